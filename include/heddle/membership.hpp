// A communicator's handle: whose it is, and how long it is good.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "heddle/handles.hpp"
#include "heddle/heddle.h"

namespace heddle::detail {

// The handle while it is good. The communicator and the owners of what it keeps (Registration,
// PreScaledSum) share it, since these may end later, or while another thread aborts.
class SharedComm {
 public:
  explicit SharedComm(heddleComm_t comm) : comm_(comm) {}
  // Calls `call(handle)`, during which the handle stays good, or does nothing when it has ended.
  template <typename Call>
  void if_good(Call&& call) {
    const std::lock_guard lock(mutex_);
    if (comm_ != nullptr) std::forward<Call>(call)(comm_);
  }
  void end() {
    const std::lock_guard lock(mutex_);
    comm_ = nullptr;
  }

 private:
  std::mutex mutex_;
  heddleComm_t comm_;
};

// What a communicator has of its handle; destroying it leaves.
class Membership {
 public:
  explicit Membership(heddleComm_t comm) {
    Owner<heddleComm_t, &heddleCommDestroy> owner(comm);  // should there be no memory
    shared_ = std::make_shared<SharedComm>(comm);
    comm_ = owner.release();
  }
  Membership(Membership&& other) noexcept
      : shared_(std::move(other.shared_)), comm_(other.comm_.exchange(nullptr)) {}
  Membership& operator=(Membership&& other) noexcept {
    if (this == &other) return *this;
    leave();
    shared_ = std::move(other.shared_);
    comm_ = other.comm_.exchange(nullptr);
    return *this;
  }
  ~Membership() { leave(); }

  heddleComm_t get() const noexcept { return comm_; }
  const std::shared_ptr<SharedComm>& shared() const noexcept { return shared_; }
  // Gives the handle away, to end it: its sharers let go of it first.
  heddleComm_t release() noexcept {
    if (shared_) shared_->end();
    return comm_.exchange(nullptr);
  }

 private:
  void leave() noexcept {
    if (const heddleComm_t comm = release(); comm != nullptr) (void)heddleCommDestroy(comm);
  }

  std::shared_ptr<SharedComm> shared_;
  std::atomic<heddleComm_t> comm_{nullptr};  // an abort comes from another thread
};

}  // namespace heddle::detail
