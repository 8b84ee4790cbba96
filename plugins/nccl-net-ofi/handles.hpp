// The pointers that NCCL holds of ours: comms, listeners, registrations. They are numbers of places
// in a table and never addresses, so that one that is null, of another kind, closed or made up is
// found out and not followed.
//
// Thread rule: any thread, all at once. find() takes no lock: it is in the path of every message.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace heddle::nccl_net {

enum class HandleKind : std::uint8_t { none, listener, send_comm, receive_comm, memory };

class HandleTable {
 public:
  // Never null. The object stays its owner's.
  void* add(HandleKind kind, void* object);
  // The object. Fails with heddleInternalError, in words, for what is no live handle of that kind.
  void* find(const void* handle, HandleKind kind) const;
  bool is(const void* handle, HandleKind kind) const;
  // As find, and the handle is dead: of several threads that remove it one gets it.
  void* remove(void* handle, HandleKind kind);

  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;
  ~HandleTable();

 private:
  // `key` tells use and kind; a handle carries the use, and a place that is used again has another.
  struct Place {
    std::atomic<std::uint64_t> key{0};
    std::atomic<void*> object{nullptr};
    std::uint32_t uses = 0;  // under the mutex
  };
  // Block b holds kFirst << b places; blocks stay where they are, so that readers need no lock.
  static constexpr std::uint32_t kFirst = 64;
  static constexpr std::size_t kBlocks = 24;

  Place* place(std::uint32_t index) const;
  Place& checked(const void* handle, HandleKind kind, std::uint64_t& key) const;

  std::array<std::atomic<Place*>, kBlocks> blocks_{};
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;  // under the mutex, as is the next
  std::uint32_t used_ = 0;           // places that were ever given out
};

}  // namespace heddle::nccl_net
