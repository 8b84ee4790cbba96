// Owners of what heddle.h hands out: each frees its handle once and never throws in doing so.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/element.hpp"
#include "heddle/heddle.h"

namespace heddle {

class Error : public std::runtime_error {
 public:
  Error(heddleResult_t code, const std::string& text) : std::runtime_error(text), code_(code) {}
  heddleResult_t code() const noexcept { return code_; }

 private:
  heddleResult_t code_;
};

namespace detail {
inline void check(heddleResult_t result) {
  if (result == heddleSuccess) return;
  const std::string_view text = heddleGetLastError(nullptr);  // of this thread's failed call
  throw Error(result, std::string(text.empty() ? heddleGetErrorString(result) : text));
}
}  // namespace detail

// What the ranks share to find each other. The process that makes one must outlive the job.
class UniqueId {
 public:
  static UniqueId make() {
    UniqueId id;
    detail::check(heddleGetUniqueId(&id.id_));
    return id;
  }
  static UniqueId from_string(std::string_view text) {
    if (text.empty() || text.size() >= HEDDLE_UNIQUE_ID_BYTES)
      throw Error(heddleInvalidArgument, "a unique id of " + std::to_string(text.size()) +
                                             " characters; allowed are 1 to " +
                                             std::to_string(HEDDLE_UNIQUE_ID_BYTES - 1));
    UniqueId id;
    std::memcpy(id.id_.internal, text.data(), text.size());
    return id;
  }
  std::string to_string() const {
    return std::string(id_.internal, strnlen(id_.internal, sizeof id_.internal));
  }
  const heddleUniqueId& get() const noexcept { return id_; }

 private:
  heddleUniqueId id_{};
};

namespace detail {
// Owns a C handle; `Release` must not throw.
template <typename Handle, auto Release>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle handle) : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) reset(std::exchange(other.handle_, nullptr));
    return *this;
  }
  ~Owner() { reset(); }
  void reset(Handle handle = nullptr) noexcept {
    if (handle_ != nullptr) (void)Release(handle_);
    handle_ = handle;
  }
  Handle get() const noexcept { return handle_; }
  Handle release() noexcept { return std::exchange(handle_, nullptr); }

 private:
  Handle handle_ = nullptr;
};
}  // namespace detail

namespace detail {
// Rounded up. What is negative is 0, and what a long cannot hold the most that it can: converting
// hours::max() to milliseconds would overflow.
template <typename Rep, typename Period>
constexpr long milliseconds_of(std::chrono::duration<Rep, Period> time) {
  constexpr long kMost = std::numeric_limits<long>::max();
  using Real = std::chrono::duration<double, std::milli>;
  const double real = std::chrono::duration_cast<Real>(time).count();
  if (!(real > 0)) return 0;
  if (real >= static_cast<double>(kMost)) return kMost;
  return static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}
}  // namespace detail

// An operation under way, or nothing (an empty group's), which is done. Destroying it lets the
// operation go on: the buffers must stay until then. It may outlive its communicator.
class Work {
 public:
  explicit Work(heddleWork_t work) : work_(work) {}
  // Waits for the end, as long as HEDDLE_TIMEOUT allows; throws if the operation failed.
  void wait() {
    if (work_.get() != nullptr) detail::check(heddleWorkWait(work_.get(), -1));
  }
  // The same for at most `time`; false when the time is over and the operation goes on.
  template <typename Rep, typename Period>
  bool wait(std::chrono::duration<Rep, Period> time) {
    if (work_.get() == nullptr) return true;
    return finished(heddleWorkWait(work_.get(), detail::milliseconds_of(time)));
  }
  // Never blocks; throws if the operation failed.
  bool done() { return work_.get() == nullptr || finished(heddleWorkTest(work_.get())); }

 private:
  static bool finished(heddleResult_t result) {
    if (result == heddleInProgress) return false;
    detail::check(result);
    return true;
  }
  detail::Owner<heddleWork_t, &heddleWorkFree> work_;
};

// Host memory that suits operations best (heddleMemAlloc): touched, page aligned, contents
// unspecified.
template <Element T>
class HostBuffer {
 public:
  explicit HostBuffer(std::size_t size) : size_(size) {
    if (size > SIZE_MAX / sizeof(T))
      throw Error(heddleInvalidArgument, "a host buffer of " + std::to_string(size) +
                                             " elements has more bytes than size_t holds");
    void* memory = nullptr;
    if (size > 0) detail::check(heddleMemAlloc(&memory, size * sizeof(T)));
    memory_ = Memory(memory);
  }
  HostBuffer(HostBuffer&& other) noexcept
      : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  T* data() noexcept { return static_cast<T*>(memory_.get()); }
  const T* data() const noexcept { return static_cast<const T*>(memory_.get()); }
  std::size_t size() const noexcept { return size_; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t index) noexcept { return data()[index]; }
  const T& operator[](std::size_t index) const noexcept { return data()[index]; }

 private:
  using Memory = detail::Owner<void*, &heddleMemFree>;
  Memory memory_;
  std::size_t size_;
};

}  // namespace heddle
