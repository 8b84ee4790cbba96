#include "device/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>

#include "base/error.hpp"

namespace heddle::device {
namespace {

// The huge page of x86-64, and of Arm with 4 KiB pages.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

std::byte* map(std::size_t bytes, std::size_t asked) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    base::fail_errno(errno, fmt::format("cannot map {} bytes of host memory", asked));
  }
  return static_cast<std::byte*>(address);
}

// One write a page: a first touch during an operation would cost about as much as the operation.
void touch(std::byte* data, std::size_t bytes, std::size_t page) {
  for (std::size_t at = 0; at < bytes; at += page) {
    *const_cast<volatile std::byte*>(data + at) = std::byte{0};
  }
}

}  // namespace

HostMemory allocate_host(std::size_t bytes) {
  if (bytes == 0) {
    base::fail(heddleInvalidArgument, "cannot allocate 0 bytes of host memory; at least 1");
  }
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) {
    base::fail_errno(ENOMEM, fmt::format("cannot map {} bytes of host memory", bytes));
  }
  if (bytes < kHugePage) {
    const std::size_t size = round_up(bytes, page);
    HostMemory memory(map(size, bytes), size);
    touch(memory.data(), size, page);
    return memory;
  }
  // Mapped with room to align, since only aligned parts of a mapping get huge pages; the kernel is
  // asked before the first touch, which decides the size of the page.
  const std::size_t size = round_up(bytes, kHugePage);
  std::byte* const mapped = map(size + kHugePage, bytes);
  const std::size_t before =
      (kHugePage - reinterpret_cast<std::uintptr_t>(mapped) % kHugePage) % kHugePage;
  if (before != 0) munmap(mapped, before);
  munmap(mapped + before + size, kHugePage - before);
  HostMemory memory(mapped + before, size);
  // Refused where the kernel has no huge pages: then small ones do.
  madvise(memory.data(), size, MADV_HUGEPAGE);
  touch(memory.data(), size, page);
  return memory;
}

}  // namespace heddle::device
