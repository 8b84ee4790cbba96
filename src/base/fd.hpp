// Owners of a file descriptor and of a memory mapping.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace heddle::base {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ < 0) return;
    const int saved = errno;
    close(std::exchange(fd_, -1));
    errno = saved;
  }

 private:
  int fd_ = -1;
};

class MappedMemory {
 public:
  MappedMemory() = default;
  MappedMemory(void* address, std::size_t bytes) : address_(address), bytes_(bytes) {}
  MappedMemory(MappedMemory&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    if (this != &other) {
      reset();
      address_ = std::exchange(other.address_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~MappedMemory() { reset(); }

  explicit operator bool() const { return address_ != nullptr; }
  std::byte* data() const { return static_cast<std::byte*>(address_); }
  std::size_t size() const { return bytes_; }
  void reset() {
    if (address_ == nullptr) return;
    munmap(address_, bytes_);
    address_ = nullptr;
    bytes_ = 0;
  }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace heddle::base
