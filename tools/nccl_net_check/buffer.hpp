// Registered memory whose content is known, with guards around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "nccl_net_check/comm.hpp"

namespace heddle::net_check {

// Bytes that depend on the seed and on where they are.
void fill(std::span<std::byte> bytes, std::uint64_t seed);
// Where it first differs from what fill writes.
std::optional<std::size_t> first_wrong(std::span<const std::byte> bytes, std::uint64_t seed);

// Memory known to the device through one comm. Deregistered, on the service thread, when it goes,
// like a Comm.
class Buffer {
 public:
  // `offset`: of the data from a multiple of 4 KiB, below that.
  Buffer(const Comm& comm, std::size_t bytes, std::size_t offset = 0);
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> span() const { return {data_, bytes_}; }
  void* memory() const { return memory_; }
  void deregister();

  // Everything, or what check_untouched_but looks at after a message of so many first bytes, to
  // the value that it expects.
  void blank();
  void blank(std::size_t used);
  // Throws Failure when something wrote outside `used` bytes from `from`, into the guards or into
  // the rest of a blank buffer (of which it looks at 64 KiB).
  void check_untouched_but(std::size_t from, std::size_t used) const;
  // Throws Failure: these bytes are not those of fill.
  void check(std::size_t from, std::size_t bytes, std::uint64_t seed) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  Rank* rank_;
  void* comm_;
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> mapped_;
  std::byte* data_;
  std::size_t mapped_bytes_;
  void* memory_ = nullptr;
};

}  // namespace heddle::net_check
