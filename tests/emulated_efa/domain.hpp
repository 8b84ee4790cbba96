// One opened adapter. Its mutex stands around everything below it: one lock, since this is a
// stand-in.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "config.hpp"
#include "faults.hpp"
#include "look.hpp"
#include "memory.hpp"

namespace emulated_efa {

class Endpoint;

class Domain : public fid_domain {
 public:
  // 0 or a negative fi_errno.
  static int open(fid_fabric* fabric, fi_info* info, fid_domain** opened, void* context);
  ~Domain();

  const std::string& name() const { return name_; }  // rdmap16s27
  int adapter() const { return adapter_; }
  const Config& config() const { return config_; }
  const Limits& limits() const { return limits_; }
  // Whether it was opened for memory of devices.
  bool takes_device_memory() const { return takes_device_memory_; }
  const fi_info& lower() const { return *lower_; }

  // Under the mutex: moves packets of all endpoints.
  void progress();

  std::mutex mutex;
  Faults faults;
  Memory memory;
  std::vector<Endpoint*> endpoints;
  int children = 0;  // queues, vectors and regions

 private:
  Domain(Config config, int adapter, const fi_info& info, Info lower, void* context);

  Config config_;
  int adapter_;
  const Limits& limits_;
  bool takes_device_memory_;
  std::string name_;
  Info lower_;
};

// A number that no other call here, nor in another process, is likely to get.
std::uint32_t random_number();

// fi_mr_regattr of a domain (registering.cpp).
int register_memory(fid* object, const fi_mr_attr* attributes, std::uint64_t flags,
                    fid_mr** registered);

}  // namespace emulated_efa
