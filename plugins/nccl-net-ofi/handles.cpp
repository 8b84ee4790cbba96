#include "nccl-net-ofi/handles.hpp"

#include <bit>
#include <string_view>

#include "base/error.hpp"

namespace heddle::nccl_net {

namespace {

static_assert(sizeof(void*) == 8, "a handle holds two numbers of 32 bits");

constexpr std::string_view kNames[] = {"nothing", "a listener", "a comm that sends",
                                       "a comm that receives", "a registration"};

std::string_view name_of(HandleKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::uint64_t key_of(std::uint32_t use, HandleKind kind) {
  return std::uint64_t{use} << 8 | static_cast<std::uint64_t>(kind);
}

// The first number is never 0, so that no handle looks like null or one of NCCL's small marks.
void* handle_of(std::uint32_t use, std::uint32_t index) {
  return reinterpret_cast<void*>(std::uintptr_t{use} << 32 | index);
}

std::uint32_t use_in(const void* handle) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle) >> 32);
}

std::uint32_t index_in(const void* handle) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
}

}  // namespace

HandleTable::~HandleTable() {
  for (const auto& block : blocks_) delete[] block.load();
}

HandleTable::Place* HandleTable::place(std::uint32_t index) const {
  // Block b starts at index kFirst * (2^b - 1).
  const std::uint64_t counted = std::uint64_t{index} / kFirst + 1;
  const auto block = static_cast<std::size_t>(std::bit_width(counted) - 1);
  if (block >= kBlocks) return nullptr;
  Place* const places = blocks_[block].load(std::memory_order_acquire);
  if (places == nullptr) return nullptr;
  const std::uint64_t start = kFirst * ((std::uint64_t{1} << block) - 1);
  return places + (index - start);
}

void* HandleTable::add(HandleKind kind, void* object) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (place(used_) == nullptr) {
      const auto block =
          static_cast<std::size_t>(std::bit_width(std::uint64_t{used_} / kFirst + 1) - 1);
      if (block >= kBlocks) base::fail(heddleInternalError, "{} handles are in use", used_);
      blocks_[block].store(new Place[std::size_t{kFirst} << block], std::memory_order_release);
    }
    free_.push_back(used_++);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Place& where = *place(index);
  if (++where.uses == 0) ++where.uses;
  where.object.store(object, std::memory_order_relaxed);
  where.key.store(key_of(where.uses, kind), std::memory_order_release);
  return handle_of(where.uses, index);
}

HandleTable::Place& HandleTable::checked(const void* handle, HandleKind kind,
                                         std::uint64_t& key) const {
  if (handle == nullptr)
    base::fail(heddleInternalError, "a null pointer was given for {}", name_of(kind));
  Place* const where = place(index_in(handle));
  key = where == nullptr ? 0 : where->key.load(std::memory_order_acquire);
  const std::uint32_t use = use_in(handle);
  if (use != 0 && key == key_of(use, kind)) [[likely]]
    return *where;
  if (use != 0 && key != 0 && key >> 8 == use)
    base::fail(heddleInternalError, "{} is {}, not {}", handle,
               name_of(static_cast<HandleKind>(key & 0xff)), name_of(kind));
  base::fail(heddleInternalError, "{} is not {}: it is closed or never was one", handle,
             name_of(kind));
}

void* HandleTable::find(const void* handle, HandleKind kind) const {
  std::uint64_t key = 0;
  return checked(handle, kind, key).object.load(std::memory_order_relaxed);
}

bool HandleTable::is(const void* handle, HandleKind kind) const {
  const Place* const where = place(index_in(handle));
  return where != nullptr && use_in(handle) != 0 &&
         where->key.load(std::memory_order_acquire) == key_of(use_in(handle), kind);
}

void* HandleTable::remove(void* handle, HandleKind kind) {
  std::uint64_t key = 0;
  Place& where = checked(handle, kind, key);
  const std::lock_guard lock(mutex_);
  if (!where.key.compare_exchange_strong(key, 0)) return find(handle, kind);  // fails in words
  void* const object = where.object.exchange(nullptr);
  free_.push_back(index_in(handle));
  return object;
}

}  // namespace heddle::nccl_net
