// The requests of one comm: there are so many, and none is made or freed while messages go.
//
// Thread rule: the pool locks itself; one request is used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "nccl-net-ofi/comm.hpp"
#include "transport/fabric/messages.hpp"

namespace heddle::nccl_net {

class RequestOwner {
 public:
  virtual ~RequestOwner() = default;
  // As nccl_net::test.
  virtual bool test(Request& request, int* sizes) = 0;
};

class Request {
 public:
  // Null while nobody uses it.
  RequestOwner* owner = nullptr;
  transport::fabric::MessageSender::Sent sent{};  // of a send
  std::uint64_t ticket = 0;                       // of a receive
  int count = 0;                                  // buffers
  std::array<std::size_t, kMostGrouped> bytes{};
  std::array<const Memory*, kMostGrouped> memories{};

  bool uses(const Memory* memory) const {
    for (int i = 0; i < count; ++i)
      if (memories[static_cast<std::size_t>(i)] == memory) return true;
    return false;
  }
};

class RequestPool {
 public:
  // Null: all are under way.
  Request* take(RequestOwner& owner) {
    const std::lock_guard lock(mutex_);
    for (Request& request : requests_)
      if (request.owner == nullptr) {
        request.owner = &owner;
        request.count = 0;
        return &request;
      }
    return nullptr;
  }
  void give(Request& request) {
    const std::lock_guard lock(mutex_);
    request.owner = nullptr;
  }
  // Whether `is_over` is true of every request that uses the memory; of all when that is null.
  template <typename IsOver>
  bool all_over(const Memory* memory, IsOver is_over) {
    const std::lock_guard lock(mutex_);
    for (Request& request : requests_)
      if (request.owner != nullptr && (memory == nullptr || request.uses(memory)) &&
          !is_over(request))
        return false;
    return true;
  }

 private:
  std::mutex mutex_;
  std::array<Request, kMostRequests> requests_;
};

}  // namespace heddle::nccl_net
