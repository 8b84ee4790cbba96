// What NCCL calls comms: messages in one direction between two processes, straight from and into
// buffers that the caller has registered. The versions of NCCL's interface (versions/) translate
// to this and add nothing.
//
// Thread rule: everything here may be called from any thread; calls on one comm at once are fine
// (NCCL registers user buffers from one thread while another sends).
// Errors: base::Error. "Not now" is null, never an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "nccl-net-ofi/abi/common.hpp"

namespace heddle::nccl_net {

using nccl_abi::kHandleBytes;
using nccl_abi::kMostGrouped;
// Under way on one comm that receives; a sender answers each with as many as it has buffers.
using nccl_abi::kMostRequests;

// Memory that the adapters know.
class Memory;
// One send, receive or flush; dead after test() was true. It belongs to its comm.
class Request;

struct MemoryKind {
  enum class Where { host, cuda } where = Where::host;
  int dmabuf = -1;           // file descriptor, still the caller's; -1: none
  std::uint64_t offset = 0;  // of the memory in the dmabuf
};

class Comm {
 public:
  virtual ~Comm() = default;
  // The range must stay mapped until deregister. Fails with heddleSystemError when an adapter
  // refuses it, heddleInvalidArgument for memory that the device does not take.
  virtual Memory* register_memory(void* data, std::size_t bytes, const MemoryKind& kind) = 0;
  // Null is nothing. Also with requests under way on it.
  virtual void deregister(Memory* memory) = 0;
};

class SendComm : public Comm {
 public:
  // Null: nobody has posted a receive for it yet, or too many are under way.
  // Fails with heddleInvalidUsage when the receive that it matches is shorter.
  virtual Request* send(const void* data, std::size_t bytes, int tag, Memory* memory) = 0;
};

struct ReceiveBuffer {
  void* data;
  std::size_t bytes;  // at most so many are received
  int tag;
  Memory* memory;
};

class ReceiveComm : public Comm {
 public:
  // One receive of 1 to kMostGrouped buffers, each of which takes one message with its tag.
  // Null: too many are under way.
  virtual Request* receive(std::span<const ReceiveBuffer> buffers) = 0;
  // After it is done, what was received into the buffers is visible to the GPU. Null: it is
  // already.
  virtual Request* flush(std::span<const ReceiveBuffer> buffers) = 0;
};

// Whether it is over; drives the transport. `sizes`: where to put the bytes of each buffer, or
// null. Fails, and the request is dead, when its peer is lost or a message was too long for its
// buffer. A receive may wait as long as its sender lives: NCCL's ranks do.
bool test(Request& request, int* sizes);

class Listener {
 public:
  virtual ~Listener() = default;
  // What connect needs; at most kHandleBytes, the last 8 of them free for connect's own use.
  virtual std::span<const std::byte> handle() const = 0;
  // Null: nobody there yet. May be called again after it gave a comm.
  virtual std::unique_ptr<ReceiveComm> accept() = 0;
};

// The adapters of one NCCL device, opened when they are first needed; comms keep it.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual std::unique_ptr<Listener> listen() = 0;
  // Null: not connected yet; call again with the same handle, in which the attempt is kept. Fails
  // with heddleRemoteError naming the address when nobody answers within HEDDLE_INIT_TIMEOUT.
  virtual std::unique_ptr<SendComm> connect(std::span<std::byte, kHandleBytes> handle) = 0;
};

// `adapters`: names, as in HEDDLE_RAILS; at least one. `most_grouped`: 1 to kMostGrouped, the same
// at both ends. Fails as FabricTransport does.
std::shared_ptr<Endpoint> open_endpoint(const base::Settings& settings,
                                        const std::vector<std::string>& adapters, int most_grouped);

}  // namespace heddle::nccl_net
