#include "device_memory.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "emulated_cuda/emulated_cuda.hpp"

namespace emulated_efa {

namespace {

constexpr std::size_t kPage = 4096;

// Whoever made device memory has loaded it. Looked for every time: it may come late.
EmulatedCudaFind* finder() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  auto* const found = reinterpret_cast<EmulatedCudaFind*>(dlsym(library, "emulated_cuda_find"));
  dlclose(library);  // the other reference keeps it
  return found;
}

}  // namespace

std::optional<FoundRange> device_range(const void* at, std::size_t bytes) {
  EmulatedCudaFind* const find = finder();
  EmulatedCudaRange range{};
  if (find == nullptr || find(at, bytes, &range) == 0) return std::nullopt;
  return FoundRange{{range.device, range.managed, range.alias}, range.whole};
}

std::optional<Imported> Imported::map(int fd, std::uint64_t offset, std::size_t bytes) {
  struct stat about {};
  const off_t begin = lseek(fd, 0, SEEK_CUR);  // of the range that the dmabuf was made for
  if (begin < 0 || fstat(fd, &about) != 0) return std::nullopt;
  const std::uint64_t first = static_cast<std::uint64_t>(begin) + offset;
  if (first + bytes > static_cast<std::uint64_t>(about.st_size)) return std::nullopt;
  const std::uint64_t skipped = first % kPage;
  Imported result;
  result.length_ = bytes + skipped;
  result.mapping_ = mmap(nullptr, result.length_, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                         static_cast<off_t>(first - skipped));
  if (result.mapping_ == MAP_FAILED) {
    result.mapping_ = nullptr;
    return std::nullopt;
  }
  result.at_ = static_cast<std::byte*>(result.mapping_) + skipped;
  return result;
}

Imported::Imported(Imported&& other) noexcept { *this = std::move(other); }

Imported& Imported::operator=(Imported&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(length_, other.length_);
  std::swap(at_, other.at_);
  return *this;
}

Imported::~Imported() {
  if (mapping_ != nullptr) munmap(mapping_, length_);
}

}  // namespace emulated_efa
