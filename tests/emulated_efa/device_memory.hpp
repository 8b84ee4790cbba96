// Memory of emulated CUDA devices, as the stand-in for libcuda (tests/emulated_cuda) tells of it.
// What an adapter reads and writes goes through the alias, as the memory itself faults for the
// host.
//
// Thread rule: any thread.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace emulated_efa {

struct DeviceRange {
  int device;  // ordinal
  bool managed;
  std::byte* alias;
};

// None when the memory's first byte is the host's, or no stand-in for libcuda is loaded; fails to
// be `whole` when the range ends elsewhere.
struct FoundRange : DeviceRange {
  bool whole;
};
std::optional<FoundRange> device_range(const void* at, std::size_t bytes);

// A mapping of memory that a dmabuf of the stand-in stands for.
class Imported {
 public:
  // None when it is no such dmabuf, or too short.
  static std::optional<Imported> map(int fd, std::uint64_t offset, std::size_t bytes);
  Imported() = default;
  Imported(Imported&& other) noexcept;
  Imported& operator=(Imported&& other) noexcept;
  ~Imported();

  std::byte* data() const { return at_; }

 private:
  void* mapping_ = nullptr;
  std::size_t length_ = 0;
  std::byte* at_ = nullptr;
};

}  // namespace emulated_efa
