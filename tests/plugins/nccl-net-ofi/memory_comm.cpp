#include "memory_comm.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "nccl-net-ofi/comm.hpp"

namespace heddle::nccl_net {

class Memory {};

class Request {
 public:
  std::vector<ReceiveBuffer> buffers;  // of a receive
  std::vector<std::size_t> sizes;      // of what came, or of what was sent
  std::size_t came = 0;
  bool sent = false;
  int fails_with = 0;
  bool asked = false;
};

namespace {

std::atomic<int> endpoint_count, comm_count, memory_count;

// Of one connection, or of one that nobody has accepted yet.
struct Wire {
  std::mutex mutex;
  std::deque<Request*> receives;  // not full, in the order in which they were posted
  std::atomic<bool> closed{false};
};

struct Waiting {
  std::deque<std::shared_ptr<Wire>> wires;
};
std::mutex listening;
std::map<std::uint64_t, Waiting> listeners;  // under the mutex
std::uint64_t next_listener = 1;

template <typename Base>
class Counted : public Base {
 public:
  Counted() { ++comm_count; }
  ~Counted() override { --comm_count; }
  Memory* register_memory(void*, std::size_t, const MemoryKind& kind) override {
    if (kind.where != MemoryKind::Where::host)
      base::fail(heddleInvalidArgument, "this device takes host memory only");
    ++memory_count;
    return new Memory;
  }
  void deregister(Memory* memory) override {
    if (memory != nullptr) --memory_count;
    delete memory;
  }
};

class Sender final : public Counted<SendComm> {
 public:
  explicit Sender(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  ~Sender() override { wire_->closed = true; }

  Request* send(const void* data, std::size_t bytes, int tag, Memory*) override {
    if (tag >= testing::kFailing && tag < testing::kFailingLater)
      base::fail(static_cast<heddleResult_t>(tag - testing::kFailing), "told to fail");
    auto request = std::make_unique<Request>();
    request->sizes = {bytes};
    request->sent = true;
    if (tag >= testing::kFailingLater) {
      request->fails_with = tag - testing::kFailingLater;
      return request.release();
    }
    const std::lock_guard lock(wire_->mutex);
    if (wire_->receives.empty()) return nullptr;
    Request& first = *wire_->receives.front();
    for (std::size_t i = 0; i < first.buffers.size(); ++i) {
      if (first.buffers[i].tag != tag || first.sizes[i] != kFree) continue;
      if (bytes > first.buffers[i].bytes)
        base::fail(heddleInvalidUsage, "a message of {} bytes for {}", bytes,
                   first.buffers[i].bytes);
      if (bytes != 0) std::memcpy(first.buffers[i].data, data, bytes);
      first.sizes[i] = bytes;
      if (++first.came == first.buffers.size()) wire_->receives.pop_front();
      return request.release();
    }
    return nullptr;
  }

  static constexpr std::size_t kFree = ~std::size_t{0};

 private:
  std::shared_ptr<Wire> wire_;
};

class Receiver final : public Counted<ReceiveComm> {
 public:
  explicit Receiver(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  ~Receiver() override { wire_->closed = true; }

  Request* receive(std::span<const ReceiveBuffer> buffers) override {
    const std::lock_guard lock(wire_->mutex);
    if (wire_->receives.size() == kMostRequests) return nullptr;
    auto request = std::make_unique<Request>();
    request->buffers.assign(buffers.begin(), buffers.end());
    request->sizes.assign(buffers.size(), Sender::kFree);
    wire_->receives.push_back(request.get());
    return request.release();
  }
  Request* flush(std::span<const ReceiveBuffer>) override { return nullptr; }

 private:
  std::shared_ptr<Wire> wire_;
};

class MemoryListener final : public Listener {
 public:
  MemoryListener() {
    const std::lock_guard lock(listening);
    id_ = next_listener++;
    listeners.try_emplace(id_);
  }
  ~MemoryListener() override {
    const std::lock_guard lock(listening);
    listeners.erase(id_);
  }
  std::span<const std::byte> handle() const override { return std::as_bytes(std::span(&id_, 1)); }
  std::unique_ptr<ReceiveComm> accept() override {
    const std::lock_guard lock(listening);
    auto& wires = listeners[id_].wires;
    if (wires.empty()) return nullptr;
    auto comm = std::make_unique<Receiver>(wires.front());
    wires.pop_front();
    return comm;
  }

 private:
  std::uint64_t id_ = 0;
};

class MemoryEndpoint final : public Endpoint {
 public:
  MemoryEndpoint() { ++endpoint_count; }
  ~MemoryEndpoint() override { --endpoint_count; }
  std::unique_ptr<Listener> listen() override { return std::make_unique<MemoryListener>(); }
  std::unique_ptr<SendComm> connect(std::span<std::byte, kHandleBytes> handle) override {
    std::uint64_t id = 0;
    std::memcpy(&id, handle.data(), sizeof id);
    std::byte& tried = handle[kHandleBytes - 1];
    if (std::exchange(tried, std::byte{1}) == std::byte{0}) return nullptr;
    const std::lock_guard lock(listening);
    const auto listener = listeners.find(id);
    if (listener == listeners.end()) base::fail(heddleRemoteError, "nobody listens at {}", id);
    auto wire = std::make_shared<Wire>();
    listener->second.wires.push_back(wire);
    return std::make_unique<Sender>(std::move(wire));
  }
};

}  // namespace

namespace testing {

int endpoints() { return endpoint_count; }
int comms() { return comm_count; }
int memories() { return memory_count; }

}  // namespace testing

bool test(Request& request, int* sizes) {
  if (!std::exchange(request.asked, true)) return false;
  if (!request.sent && request.came != request.buffers.size()) return false;
  const std::unique_ptr<Request> dead(&request);
  if (request.fails_with != 0)
    base::fail(static_cast<heddleResult_t>(request.fails_with), "told to fail later");
  for (std::size_t i = 0; sizes != nullptr && i < request.sizes.size(); ++i)
    sizes[i] = static_cast<int>(request.sizes[i]);
  return true;
}

std::shared_ptr<Endpoint> open_endpoint(const base::Settings&, const std::vector<std::string>&,
                                        int) {
  return std::make_shared<MemoryEndpoint>();
}

}  // namespace heddle::nccl_net
