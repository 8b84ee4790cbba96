// Which network devices NCCL sees, and what it is told of each. A device is one adapter or several,
// over all of which its messages go.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "nccl-net-ofi/device_memory.hpp"
#include "transport/fabric/adapter.hpp"

namespace heddle::nccl_net {

// What NCCL is told; the versions of its interface pick what they know. Texts live as long as the
// process.
struct Device {
  const char* name = nullptr;      // unique
  const char* pci_path = nullptr;  // of the first adapter, in /sys; null: no PCI device
  std::uint64_t guid = 0;          // the same whenever this host is asked
  int pointer_kinds = 0;           // kPointer... bits
  bool must_flush = false;
  int megabits = 0;    // per second, of all adapters
  int most_comms = 0;  // at once
  int most_grouped = 1;
  std::vector<int> members;           // devices that it was made of; itself
  std::vector<std::string> adapters;  // by name, as in HEDDLE_RAILS
};

// Thread rule: any thread.
class DeviceList {
 public:
  // Groups `adapters` as the settings say. Host: its id, which makes guids different.
  DeviceList(const base::Settings& settings, const std::string& host,
             std::span<const transport::fabric::Adapter> adapters,
             const DeviceMemorySupport& memory = {});

  // Devices that were found; those that were made come after them and are not counted.
  int found() const { return found_; }
  // Stays where it is. Fails with heddleInternalError for a number that is none.
  const Device& at(int device) const;
  // A device of all adapters of `members`, which must be found ones, each once; the same one when
  // they were asked for before. Fails with heddleInternalError, in words.
  int merge(std::span<const int> members);

 private:
  void add(const base::Settings& settings, const DeviceMemorySupport& memory,
           std::span<const transport::fabric::Adapter* const> adapters);
  const Device& locked_at(int device) const;
  void check_members(std::span<const int> members) const;

  const std::string host_;
  int found_ = 0;
  mutable std::mutex mutex_;
  std::deque<Device> devices_;  // under the mutex; never fewer
};

// The adapters that the settings leave, by the provider that carries the job, which is logged.
// Fails as transport::fabric::choose_provider does.
std::unique_ptr<DeviceList> find_devices(const base::Settings& settings);

}  // namespace heddle::nccl_net
