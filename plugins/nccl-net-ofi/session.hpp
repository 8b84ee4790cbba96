// What the plugin is between its first init and its last finalize: settings, devices and their open
// adapters. There is one of a process, however many communicators NCCL makes.
//
// Thread rule: any thread.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "base/settings.hpp"
#include "nccl-net-ofi/abi/common.hpp"
#include "nccl-net-ofi/comm.hpp"
#include "nccl-net-ofi/devices.hpp"

namespace heddle::nccl_net {

class Session {
 public:
  // Reads the environment, finds the devices and logs what it found. Fails with
  // heddleInvalidArgument when a setting is wrong or no provider is usable.
  Session();

  const base::Settings& settings() const { return settings_; }
  DeviceList& devices() { return *devices_; }
  // The adapters of a device, opened by who asks first. Comms keep them beyond the session.
  std::shared_ptr<Endpoint> endpoint(int device);

 private:
  struct Place {
    std::mutex mutex;  // held while opening, which takes long
    std::shared_ptr<Endpoint> endpoint;
  };
  Place& place(int device);

  base::Settings settings_;
  std::unique_ptr<DeviceList> devices_;
  std::mutex mutex_;
  std::deque<Place> places_;  // by device; under the mutex
};

// Begins the session, or joins it. From version 11 of the interface on, a communicator has a
// context and ends it; before, a process begins once and never ends, so that the session stays.
// Fail as Session does.
void* begin_context(nccl_abi::Logger logger);
void begin_for_good(nccl_abi::Logger logger);
// The last one ends the session. NCCL calls it after a failed init too: what is no live context is
// left alone.
void end_context(void* context);

// Fails with heddleInvalidUsage before init and after the last finalize.
std::shared_ptr<Session> session();

// Fails with heddleInvalidUsage in a process that was forked after init: neither the adapters'
// state nor the threads came along. Cheap, no system call.
void refuse_forked();

}  // namespace heddle::nccl_net
