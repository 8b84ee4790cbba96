// Steps that must all be taken though some throw: the first exception goes on when all are done.
#pragma once

#include <exception>
#include <utility>

namespace heddle::transport::fabric {

class FirstError {
 public:
  template <typename Step>
  void guard(Step&& step) {
    try {
      std::forward<Step>(step)();
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

}  // namespace heddle::transport::fabric
