#include "communicator/registry.hpp"

#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "device/host_memory.hpp"

namespace heddle::communicator {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<void*, device::HostMemory> memory;
};

Registry& registry() {
  // Never destroyed: the program may free from its own static destructors.
  static Registry* const instance = new Registry;
  return *instance;
}

}  // namespace

void* allocate_memory(std::size_t bytes) {
  device::HostMemory memory = device::allocate_host(bytes);
  void* const pointer = memory.data();
  const std::lock_guard lock(registry().mutex);
  registry().memory.emplace(pointer, std::move(memory));
  return pointer;
}

void free_memory(void* pointer) {
  if (pointer == nullptr) return;
  device::HostMemory freed;  // unmapped outside the lock
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().memory.find(pointer);
  if (found == registry().memory.end())
    base::fail(heddleInvalidArgument, "{} did not come from heddleMemAlloc", fmt::ptr(pointer));
  freed = std::move(found->second);
  registry().memory.erase(found);
}

void* Registrations::add(void* buffer, std::size_t bytes, transport::Transport* fabric) {
  if (buffer == nullptr || bytes == 0)
    base::fail(heddleInvalidArgument,
               "cannot register {} bytes at {}: allowed is a buffer of 1 byte and more", bytes,
               fmt::ptr(buffer));
  if (bytes > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(buffer))
    base::fail(heddleInvalidArgument,
               "cannot register {} bytes at {}: they end past the address space", bytes,
               fmt::ptr(buffer));
  std::shared_ptr<const void> registered;
  if (fabric != nullptr)
    registered = fabric->register_buffer(static_cast<std::byte*>(buffer), bytes);
  auto entry = std::make_unique<Buffer>(Buffer{std::move(registered)});
  void* const handle = entry.get();
  const std::lock_guard lock(mutex_);
  buffers_.emplace(handle, std::move(entry));
  return handle;
}

void Registrations::remove(void* handle) {
  const std::lock_guard lock(mutex_);
  if (buffers_.erase(handle) == 0)
    base::fail(heddleInvalidArgument,
               "{} is not the handle of a buffer registered with this communicator",
               fmt::ptr(handle));
}

heddleRedOp_t PreScaledSums::add(const void* scale, base::DataType type) {
  Sum sum{type, {}};
  std::memcpy(sum.scale.data(), scale, base::size_of(type));
  const std::lock_guard lock(mutex_);
  sums_.emplace(++last_, sum);
  return static_cast<heddleRedOp_t>(last_);
}

PreScaledSums::Sum PreScaledSums::find(heddleRedOp_t op) const {
  const std::lock_guard lock(mutex_);
  const auto found = sums_.find(static_cast<int>(op));
  if (found == sums_.end())
    base::fail(heddleInvalidArgument,
               "reduction is {}: allowed is 0 (heddleSum) to {} (heddleAvg), or what "
               "heddleRedOpCreatePreMulSum gave for this communicator",
               static_cast<int>(op), heddleNumOps - 1);
  return found->second;
}

void PreScaledSums::remove(heddleRedOp_t op) {
  find(op);
  const std::lock_guard lock(mutex_);
  sums_.erase(static_cast<int>(op));
}

}  // namespace heddle::communicator
