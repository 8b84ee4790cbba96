#include "communicator/registry.hpp"

#include <map>
#include <mutex>

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

}  // namespace heddle::communicator
