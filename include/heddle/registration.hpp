// What a program tells a communicator of its buffers.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "heddle/heddle.h"
#include "heddle/membership.hpp"

namespace heddle {

// A buffer that heddleCommRegister knows (Communicator::register_buffer), which must stay mapped
// until this ends or the communicator does. Either may end first.
class Registration {
 public:
  // Throws heddleInvalidArgument for no bytes, heddleSystemError when an adapter refuses them.
  Registration(const detail::Membership& of, void* buffer, std::size_t bytes) : comm_(of.shared()) {
    detail::check(heddleCommRegister(of.get(), buffer, bytes, &handle_));
  }
  Registration(Registration&& other) noexcept = default;
  Registration& operator=(Registration&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Registration() {
    if (comm_)
      comm_->if_good([this](heddleComm_t comm) { (void)heddleCommDeregister(comm, handle_); });
  }

 private:
  std::shared_ptr<detail::SharedComm> comm_;  // null: moved from
  void* handle_ = nullptr;
};

}  // namespace heddle
