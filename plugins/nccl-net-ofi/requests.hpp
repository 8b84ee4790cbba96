// The requests of one comm: there are so many, and none is made or freed while messages go.
//
// Thread rule: the pool locks itself; one request is used by one thread at a time, while others may
// ask the pool what is under way.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

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
  std::array<std::size_t, kMostGrouped> bytes{};
  std::array<const Memory*, kMostGrouped> memories{};

  int count() const { return count_.load(std::memory_order_acquire); }
  // It is under way, with so many buffers, and all above is filled in: a thread that takes memory
  // back may look at it.
  void begin(std::size_t buffers) {
    count_.store(static_cast<int>(buffers), std::memory_order_release);
  }
  bool uses(const Memory* memory) const {
    for (int i = 0; i < count(); ++i)
      if (memories[static_cast<std::size_t>(i)] == memory) return true;
    return false;
  }

 private:
  friend class RequestPool;
  std::atomic<int> count_{0};  // 0: not under way
};

class RequestPool {
 public:
  explicit RequestPool(int most) : requests_(static_cast<std::size_t>(most)) {
    free_.reserve(requests_.size());
    for (Request& request : requests_) free_.push_back(&request);
  }

  // Null: all are under way.
  Request* take(RequestOwner& owner) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    Request* const request = free_.back();
    free_.pop_back();
    request->owner = &owner;
    return request;
  }
  void give(Request& request) {
    const std::lock_guard lock(mutex_);
    request.owner = nullptr;
    request.count_ = 0;
    free_.push_back(&request);
  }
  // Whether `is_over` is true of every request under way that uses the memory; of all when that is
  // null.
  template <typename IsOver>
  bool all_over(const Memory* memory, IsOver is_over) {
    const std::lock_guard lock(mutex_);
    for (Request& request : requests_)
      if (request.count() > 0 && (memory == nullptr || request.uses(memory)) && !is_over(request))
        return false;
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<Request*> free_;
};

}  // namespace heddle::nccl_net
