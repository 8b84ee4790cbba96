#include "nccl-net-ofi/comm.hpp"

#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "base/deadline.hpp"
#include "base/log.hpp"
#include "nccl-net-ofi/fabric_comms.hpp"
#include "nccl-net-ofi/memories.hpp"
#include "nccl-net-ofi/requests.hpp"

namespace heddle::nccl_net {

namespace {

namespace fabric = transport::fabric;

// What both directions do alike. End is MessageSender or MessageReceiver.
template <typename Base, typename End>
class FabricComm : public Base, public RequestOwner {
 public:
  FabricComm(const Adapters& adapters, std::unique_ptr<End> end, fabric::Access access,
             int most_requests)
      : adapters_(adapters), requests_(most_requests), end_(std::move(end)), access_(access) {}
  ~FabricComm() override = default;

  Memory* register_memory(void* data, std::size_t bytes, const MemoryKind& kind) override {
    if (data == nullptr || bytes == 0)
      base::fail(heddleInvalidArgument, "memory of {} bytes at {} cannot be registered", bytes,
                 data);
    const fabric::MemoryOwner owner = adapters_.memory->owner_of(data, bytes, kind);
    return memories_.add(
        adapters_.transport->register_memory(static_cast<std::byte*>(data), bytes, access_, owner));
  }

  void deregister(Memory* memory) override {
    if (memory == nullptr) return;
    let_go(memory);
    memories_.remove(memory);
  }

  bool test(Request& request, int* sizes) override {
    try {
      if (!is_over(request)) return false;
    } catch (const base::Error&) {
      requests_.give(request);
      throw;
    }
    for (int i = 0; sizes != nullptr && i < request.count(); ++i)
      sizes[i] = static_cast<int>(request.bytes[static_cast<std::size_t>(i)]);
    requests_.give(request);
    return true;
  }

 protected:
  virtual bool is_over(Request& request) = 0;

  // Until no adapter touches the memory (null: any) any more. What is under way on it ends the
  // comm: there is no taking back a single message. Of a comm that has failed, adapters may hold
  // memory of requests that are over.
  void let_go(const Memory* memory) {
    const auto over = [&](Request& request) {
      try {
        return is_over(request);
      } catch (const base::Error&) {
        return false;
      }
    };
    if (requests_.all_over(memory, over) && !end_->has_failed()) return;
    end_->give_up();
    const Patience::Wait wait = begin_rest();
    while (!end_->at_rest()) {
      if (wait.until.passed()) return tell_in_vain(wait);
      std::this_thread::yield();
    }
  }
  // Where nothing can be thrown.
  void let_go_of_all() {
    try {
      let_go(nullptr);
    } catch (const base::Error& error) {
      base::log_warn("NET/OFI a comm that is closed: {}", error.what());
    }
  }

 private:
  Patience::Wait begin_rest() {
    const std::lock_guard lock(rest_mutex_);
    if (!rest_) rest_ = adapters_.patience->begin(end_->peer());
    return *rest_;
  }
  void tell_in_vain(const Patience::Wait& wait) {
    adapters_.patience->was_in_vain(end_->peer(), wait);
    const std::lock_guard lock(rest_mutex_);
    if (!std::exchange(told_, true))
      base::log_warn(
          "NET/OFI memory is taken back while messages are under way, and the other end has not "
          "let go of it in {:g} s",
          (wait.whole ? Patience::kWhole : Patience::kShort).count());
  }

  std::mutex rest_mutex_;               // memory may be taken back by several threads at once
  std::optional<Patience::Wait> rest_;  // once for all memory of the comm
  bool told_ = false;

 protected:
  Adapters adapters_;
  Memories memories_;
  RequestPool requests_;
  std::unique_ptr<End> end_;  // goes before the memory does
  fabric::Access access_;
};

class FabricSendComm final : public FabricComm<SendComm, fabric::MessageSender> {
 public:
  using FabricComm::FabricComm;
  ~FabricSendComm() override { let_go_of_all(); }

  Request* send(const void* data, std::size_t bytes, int tag, Memory* memory) override {
    // Zero bytes need no memory.
    static const char kNothing = 0;
    const auto* from = static_cast<const std::byte*>(
        bytes == 0 && data == nullptr ? static_cast<const void*>(&kNothing) : data);
    if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      base::fail(heddleInvalidUsage, "a message of {} bytes; at most {} are allowed", bytes,
                 std::numeric_limits<int>::max());
    Request* const request = requests_.take(*this);
    if (request == nullptr) return nullptr;
    std::optional<fabric::MessageSender::Sent> sent;
    try {
      sent = end_->send(from, bytes, tag, known_of(memory));
    } catch (const base::Error&) {
      requests_.give(*request);
      throw;
    }
    if (!sent) {
      requests_.give(*request);
      return nullptr;
    }
    request->sent = *sent;
    request->bytes[0] = bytes;
    request->memories[0] = memory;
    request->begin(1);
    return request;
  }

 private:
  bool is_over(Request& request) override { return end_->has_left(request.sent); }
};

class FabricReceiveComm final : public FabricComm<ReceiveComm, fabric::MessageReceiver> {
 public:
  using FabricComm::FabricComm;
  ~FabricReceiveComm() override { let_go_of_all(); }

  Request* receive(std::span<const ReceiveBuffer> buffers) override {
    std::array<fabric::MessageReceiver::Buffer, kMostGrouped> posted;
    if (buffers.empty() || buffers.size() > posted.size())
      base::fail(heddleInvalidUsage, "a receive of {} buffers; 1 to {} are allowed", buffers.size(),
                 posted.size());
    Request* const request = requests_.take(*this);
    if (request == nullptr) return nullptr;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const ReceiveBuffer& buffer = buffers[i];
      request->memories[i] = buffer.memory;
      posted[i] = {static_cast<std::byte*>(buffer.data), buffer.bytes, buffer.tag,
                   known_of(buffer.memory), &request->bytes[i]};
    }
    try {
      if (const auto ticket = end_->receive(std::span(posted).first(buffers.size()))) {
        request->ticket = *ticket;
        request->begin(buffers.size());
        return request;
      }
    } catch (const base::Error&) {
      requests_.give(*request);
      throw;
    }
    requests_.give(*request);
    return nullptr;
  }

  // Done at once, in microseconds.
  Request* flush(std::span<const ReceiveBuffer> buffers) override {
    for (const ReceiveBuffer& buffer : buffers) {
      const fabric::MessageMemory* const memory = known_of(buffer.memory);
      if (memory != nullptr && !memory->is_host() &&
          adapters_.memory->needs_flush(memory->device()))
        adapters_.memory->flush(memory->device());
    }
    return nullptr;
  }

 private:
  bool is_over(Request& request) override { return end_->has_come(request.ticket); }
};

}  // namespace

bool test(Request& request, int* sizes) {
  RequestOwner* const owner = request.owner;
  if (owner == nullptr)
    base::fail(heddleInvalidUsage, "a request is tested that is over, or never was");
  return owner->test(request, sizes);
}

std::unique_ptr<SendComm> make_send_comm(const Adapters& adapters,
                                         std::unique_ptr<fabric::MessageSender> sender) {
  return std::make_unique<FabricSendComm>(adapters, std::move(sender), fabric::Access::send,
                                          kMostRequests * adapters.most_grouped);
}

std::unique_ptr<ReceiveComm> make_receive_comm(const Adapters& adapters,
                                               std::unique_ptr<fabric::MessageReceiver> receiver) {
  const auto access =
      adapters.transport->rma() ? fabric::Access::remote_write : fabric::Access::receive;
  return std::make_unique<FabricReceiveComm>(adapters, std::move(receiver), access, kMostRequests);
}

}  // namespace heddle::nccl_net
