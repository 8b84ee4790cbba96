// The calls of plugin.hpp that register, send, receive and wait.
#include <array>

#include "nccl-net-ofi/guard.hpp"
#include "nccl-net-ofi/open_comms.hpp"
#include "nccl-net-ofi/plugin.hpp"

namespace heddle::nccl_net::plugin {

namespace {

void register_as(void* comm, void* data, std::size_t bytes, int type, MemoryKind kind,
                 void** memory) {
  require(memory, "where the registration goes");
  *memory = nullptr;
  if (type != nccl_abi::kPointerHost && type != nccl_abi::kPointerCuda)
    base::fail(heddleInternalError, "memory of type {:#x}; {:#x} (host) and {:#x} (CUDA) are known",
               type, nccl_abi::kPointerHost, nccl_abi::kPointerCuda);
  kind.where = type == nccl_abi::kPointerCuda ? MemoryKind::Where::cuda : MemoryKind::Where::host;
  *memory = register_with(comm, data, bytes, kind);
}

// What the calls about several buffers are given, checked.
class Buffers {
 public:
  template <typename Bytes>
  Buffers(void* comm, int most, int count, void** data, const Bytes* bytes, const int* tags,
          void** memories)
      : count_(static_cast<std::size_t>(count)) {
    if (count < 1 || count > most)
      base::fail(heddleInternalError, "{} buffers in one call; 1 to {} are allowed", count, most);
    require(data, "the list of buffers");
    require(bytes, "the list of their sizes");
    require(memories, "the list of their registrations");
    for (std::size_t i = 0; i < count_; ++i) {
      const auto size = static_cast<std::size_t>(bytes[i]);
      all_[i] = {data[i], size, tags == nullptr ? 0 : tags[i],
                 memory_for(comm, memories[i], data[i], size)};
    }
  }

  std::span<const ReceiveBuffer> all() const { return std::span(all_).first(count_); }

 private:
  std::size_t count_;
  std::array<ReceiveBuffer, kMostGrouped> all_;
};

}  // namespace

Result register_memory(void* comm, void* data, std::size_t bytes, int type,
                       void** memory) noexcept {
  return guarded("regMr", [&] { register_as(comm, data, bytes, type, {}, memory); });
}

Result register_dmabuf(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset,
                       int dmabuf, void** memory) noexcept {
  return guarded("regMrDmaBuf", [&] {
    if (dmabuf < 0) base::fail(heddleInternalError, "{} is no file descriptor", dmabuf);
    MemoryKind kind;
    kind.dmabuf = dmabuf;
    kind.offset = offset;
    register_as(comm, data, bytes, type, kind, memory);
  });
}

Result deregister_memory(void* comm, void* memory) noexcept {
  return guarded("deregMr", [&] { deregister_from(comm, memory); });
}

Result send(void* send_comm, const void* data, std::size_t bytes, int tag, void* memory,
            void** request) noexcept {
  return guarded("isend", [&] {
    require(request, "where the request goes");
    *request = nullptr;
    OpenComm& open = comm_of(send_comm, HandleKind::send_comm);
    const std::lock_guard lock(open.mutex);
    *request = open.sender->send(data, bytes, tag, memory_for(send_comm, memory, data, bytes));
  });
}

Result receive(void* receive_comm, int count, void** data, const std::size_t* bytes,
               const int* tags, void** memories, void** request) noexcept {
  return guarded("irecv", [&] {
    require(request, "where the request goes");
    *request = nullptr;
    OpenComm& open = comm_of(receive_comm, HandleKind::receive_comm);
    const std::lock_guard lock(open.mutex);
    const Buffers buffers(receive_comm, open.most_grouped, count, data, bytes, tags, memories);
    *request = open.receiver->receive(buffers.all());
  });
}

Result flush(void* receive_comm, int count, void** data, const int* bytes, void** memories,
             void** request) noexcept {
  return guarded("iflush", [&] {
    require(request, "where the request goes");
    *request = nullptr;
    OpenComm& open = comm_of(receive_comm, HandleKind::receive_comm);
    const std::lock_guard lock(open.mutex);
    const Buffers buffers(receive_comm, open.most_grouped, count, data, bytes, nullptr, memories);
    *request = open.receiver->flush(buffers.all());
  });
}

Result test(void* request, int* done, int* bytes) noexcept {
  return guarded("test", [&] {
    require(done, "where the answer goes");
    *done = 0;
    require(request, "the request");
    *done = nccl_net::test(*static_cast<Request*>(request), bytes) ? 1 : 0;
  });
}

}  // namespace heddle::nccl_net::plugin
