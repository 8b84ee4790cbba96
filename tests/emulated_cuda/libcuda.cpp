// A stand-in for NVIDIA's driver library: the functions of src/device/cuda/abi.hpp and those that
// tests need to make memory. Emulated: there is no GPU. "Device memory" is a memfd that the process
// sees twice: at the address that it is given, where touching it faults as a GPU's memory would,
// and at an alias, through which the copies of this library and the emulated adapters reach it. As
// CUDA's, allocations lie side by side; an address is not used again.
//
// HEDDLE_EMULATED_CUDA, words with commas, is read at every call:
//   devices=N (1)   no-gdr  no-dmabuf  no-flush (what the GPUs cannot)   ordered (need no flush)
//   unknown-attributes (a driver that is older than the attributes)      broken (cuInit fails)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

#include "device/cuda/abi.hpp"
#include "emulated_cuda/emulated_cuda.hpp"

using namespace heddle::device::cuda;

namespace {

constexpr Result kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101,
                 kInvalidContext = 201, kNotSupported = 801;
constexpr std::size_t kPage = 4096;

struct Block {
  std::size_t bytes;  // whole pages
  int device;
  bool managed;  // then it may be touched, and has no file
  int file;
  std::byte* alias;
};

struct State {
  std::mutex mutex;
  std::map<Address, Block> blocks;
  std::byte* next = nullptr;  // free addresses
  std::size_t left = 0;
  bool started = false;
  int flushes = 0;
};
State& state() {
  static State instance;
  return instance;
}

int contexts[64];  // their addresses are the devices' primary contexts
thread_local Context current = nullptr;

std::string word(const std::string& name) {  // "" when it is not there, else what follows "name="
  const char* const text = std::getenv("HEDDLE_EMULATED_CUDA");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string each; std::getline(words, each, ',');) {
    if (each == name) return "yes";
    if (each.rfind(name + "=", 0) == 0) return each.substr(name.size() + 1);
  }
  return "";
}
bool is_set(const char* name) { return !word(name).empty(); }

int devices() {
  const std::string text = word("devices");
  return text.empty() ? 1 : std::stoi(text);
}

int device_of_current() {
  return current == nullptr ? 0 : static_cast<int>(reinterpret_cast<int*>(current) - contexts);
}

// Under the lock; null when the range is not within one block.
const std::pair<const Address, Block>* block_of(Address address, std::size_t bytes) {
  auto place = state().blocks.upper_bound(address);
  if (place == state().blocks.begin()) return nullptr;
  --place;
  const Address end = place->first + place->second.bytes;
  return address < end && bytes <= end - address ? &*place : nullptr;
}

std::byte* reachable(Address address, std::size_t bytes) {
  const auto* block = block_of(address, bytes);
  if (block == nullptr) return nullptr;
  const std::size_t into = address - block->first;
  return block->second.managed ? reinterpret_cast<std::byte*>(address) : block->second.alias + into;
}

// Under the lock; null when there are none left.
void* take_addresses(std::size_t bytes) {
  State& now = state();
  if (now.next == nullptr) {
    constexpr std::size_t kAll = std::size_t{1} << 38;
    void* const all =
        mmap(nullptr, kAll, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return nullptr;
    now.next = static_cast<std::byte*>(all);
    now.left = kAll;
  }
  if (bytes > now.left) return nullptr;
  now.left -= bytes;
  return std::exchange(now.next, now.next + bytes);
}

Result allocate(Address* address, std::size_t bytes, bool managed) {
  if (!state().started) return kNotInitialized;
  if (bytes == 0) return kInvalidValue;
  Block block{(bytes + kPage - 1) / kPage * kPage, device_of_current(), managed, -1, nullptr};
  block.file = memfd_create("emulated-cuda", MFD_CLOEXEC);
  if (block.file < 0 || ftruncate(block.file, static_cast<off_t>(block.bytes)) != 0)
    return kOutOfMemory;
  const std::lock_guard lock(state().mutex);
  void* const place = take_addresses(block.bytes);
  if (place == nullptr) return kOutOfMemory;
  const int allowed = managed ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* const seen = mmap(place, block.bytes, allowed, MAP_SHARED | MAP_FIXED, block.file, 0);
  void* const alias = mmap(nullptr, block.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, block.file, 0);
  if (seen == MAP_FAILED || alias == MAP_FAILED) return kOutOfMemory;
  block.alias = static_cast<std::byte*>(alias);
  *address = reinterpret_cast<Address>(seen);
  state().blocks.emplace(*address, block);
  return kSuccess;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED Result cuInit(unsigned) {
  if (is_set("broken")) return 999;
  if (devices() == 0) return kNoDevice;
  state().started = true;
  return kSuccess;
}
EXPORTED Result cuGetErrorName(Result result, const char** text) {
  *text = result == kNoDevice ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_EMULATED";
  return kSuccess;
}
EXPORTED Result cuGetErrorString(Result result, const char** text) {
  *text = result == kNoDevice        ? "emulated: no CUDA-capable device is detected"
          : result == kInvalidDevice ? "emulated: invalid device ordinal"
          : result == kInvalidValue  ? "emulated: invalid argument"
          : result == kNotSupported  ? "emulated: operation not supported"
                                     : "emulated: some error";
  return kSuccess;
}
EXPORTED Result cuDriverGetVersion(int* version) {
  *version = 12080;
  return kSuccess;
}
EXPORTED Result cuDeviceGetCount(int* count) {
  *count = devices();
  return state().started ? kSuccess : kNotInitialized;
}
EXPORTED Result cuDeviceGet(Device* device, int ordinal) {
  if (ordinal < 0 || ordinal >= devices()) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}
EXPORTED Result cuDeviceGetAttribute(int* value, DeviceAttribute what, Device) {
  if (is_set("unknown-attributes")) return kInvalidValue;
  switch (what) {
    case DeviceAttribute::gpu_direct_rdma: *value = is_set("no-gdr") ? 0 : 1; return kSuccess;
    case DeviceAttribute::dmabuf: *value = is_set("no-dmabuf") ? 0 : 1; return kSuccess;
    case DeviceAttribute::flush_options:
      *value = is_set("no-flush") ? 0 : kFlushFromHost | 2;
      return kSuccess;
    case DeviceAttribute::write_ordering:
      *value = is_set("ordered") ? kOrderingOwner : 0;
      return kSuccess;
  }
  return kInvalidValue;
}
EXPORTED Result cuPointerGetAttribute(void* value, PointerAttribute what, Address address) {
  const std::lock_guard lock(state().mutex);
  const auto* block = block_of(address, 1);
  if (block == nullptr) return kInvalidValue;
  switch (what) {
    case PointerAttribute::memory_type:
      *static_cast<unsigned*>(value) = kMemoryTypeDevice;
      return kSuccess;
    case PointerAttribute::is_managed:
      *static_cast<unsigned char*>(value) = block->second.managed ? 1 : 0;
      return kSuccess;
    case PointerAttribute::device_ordinal:
      *static_cast<int*>(value) = block->second.device;
      return kSuccess;
  }
  return kInvalidValue;
}
EXPORTED Result cuCtxGetCurrent(Context* context) {
  *context = current;
  return kSuccess;
}
EXPORTED Result cuCtxSetCurrent(Context context) {
  current = context;
  return kSuccess;
}
EXPORTED Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
  *context = reinterpret_cast<Context>(&contexts[device]);
  const std::lock_guard lock(state().mutex);
  ++contexts[device];
  return kSuccess;
}
EXPORTED Result cuDevicePrimaryCtxRelease_v2(Device device) {
  const std::lock_guard lock(state().mutex);
  --contexts[device];
  return kSuccess;
}

// What older drivers do not have.
#ifndef EMULATED_OLD_DRIVER
EXPORTED Result cuMemGetHandleForAddressRange(void* handle, Address address, std::size_t bytes,
                                              int type, unsigned long long flags) {
  if (is_set("no-dmabuf")) return kNotSupported;
  const std::lock_guard lock(state().mutex);
  const auto* block = block_of(address, bytes);
  if (block == nullptr || block->second.managed || type != kHandleIsDmabuf || flags != 0 ||
      address % kPage != 0 || bytes % kPage != 0)
    return kInvalidValue;
  // A file description of its own, whose position tells where the range begins.
  const std::string path = "/proc/self/fd/" + std::to_string(block->second.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return kOutOfMemory;
  lseek(file, static_cast<off_t>(address - block->first), SEEK_SET);
  *static_cast<int*>(handle) = file;
  return kSuccess;
}
EXPORTED Result cuFlushGPUDirectRDMAWrites(int target, int scope) {
  if (current == nullptr) return kInvalidContext;
  if (target != kFlushCurrentContext || scope != kFlushToOwner) return kInvalidValue;
  if (is_set("no-flush")) return kNotSupported;
  const std::lock_guard lock(state().mutex);
  ++state().flushes;
  return kSuccess;
}
#endif

EXPORTED Result cuMemAlloc_v2(Address* address, std::size_t bytes) {
  return allocate(address, bytes, false);
}
EXPORTED Result cuMemAllocManaged(Address* address, std::size_t bytes, unsigned) {
  return allocate(address, bytes, true);
}
EXPORTED Result cuMemFree_v2(Address address) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().blocks.find(address);
  if (found == state().blocks.end()) return kInvalidValue;
  mmap(reinterpret_cast<void*>(address), found->second.bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  munmap(found->second.alias, found->second.bytes);
  close(found->second.file);
  state().blocks.erase(found);
  return kSuccess;
}
EXPORTED Result cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  std::byte* const at = reachable(to, bytes);
  if (at == nullptr) return kInvalidValue;
  std::memcpy(at, from, bytes);
  return kSuccess;
}
EXPORTED Result cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const std::byte* const at = reachable(from, bytes);
  if (at == nullptr) return kInvalidValue;
  std::memcpy(to, at, bytes);
  return kSuccess;
}

EXPORTED int emulated_cuda_find(const void* at, std::size_t bytes, EmulatedCudaRange* range) {
  const std::lock_guard lock(state().mutex);
  const auto address = reinterpret_cast<Address>(at);
  const auto* block = block_of(address, 1);
  if (block == nullptr) return 0;
  const bool whole = bytes == 0 || block_of(address, bytes) != nullptr;
  *range = {block->second.device, block->second.managed, whole, reachable(address, 1)};
  return 1;
}
EXPORTED int emulated_cuda_flushes() {
  const std::lock_guard lock(state().mutex);
  return state().flushes;
}
EXPORTED int emulated_cuda_contexts(int device) {
  const std::lock_guard lock(state().mutex);
  return contexts[device];
}
