// One end of a comm of the plugin that was built, and memory of emulated GPUs and of the host for
// its messages. Loaded as NCCL does; PLUGIN is its file. Failures are std::runtime_error with what
// the plugin logged.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "drive.hpp"
#include "emulated_cuda/memory.hpp"
#include "processes.hpp"

namespace heddle::nccl_net::testing {

// Emulated adapters that reach the memory of emulated GPUs, as one device.
inline Variables emulated(int adapters, int seed = 1, const char* memory = "cuda") {
  return {{"HEDDLE_PROVIDER", "efa"},
          {"HEDDLE_EMULATED_EFA", std::to_string(adapters)},
          {"HEDDLE_EMULATED_EFA_SEED", std::to_string(seed)},
          {"HEDDLE_EMULATED_EFA_HMEM", memory},
          {"HEDDLE_NCCL_DEVICES", "all"},
          {"HEDDLE_TIMEOUT", "20"}};
}

// What NCCL registers memory as.
enum class Kind { host, cuda, dmabuf };

class Buffer {
 public:
  // Filled with 0xee.
  Buffer(Kind kind, std::size_t bytes, int device = 0) : kind_(kind), host_(bytes, kFiller) {
    if (kind == Kind::host) return;
    constexpr std::size_t kPage = 4096;  // of which a dmabuf has whole ones
    device_.emplace((bytes + kPage - 1) / kPage * kPage, device);
    device_->write(host_);
  }

  Kind kind() const { return kind_; }
  std::byte* data() { return device_ ? device_->data() : host_.data(); }
  std::size_t size() const { return host_.size(); }
  void write(const std::vector<std::byte>& all) {
    host_ = all;
    if (device_) device_->write(all);
  }
  std::vector<std::byte> read() const { return device_ ? device_->read(0, host_.size()) : host_; }

  template <typename Net>
  Result register_with(Net& net, void* comm, void** memory) {
    const int type = kind_ == Kind::host ? nccl_abi::kPointerHost : nccl_abi::kPointerCuda;
    if (kind_ != Kind::dmabuf) return net.regMr(comm, data(), size(), type, memory);
    const base::UniqueFd file(device_->dmabuf());  // closed when the call returns, as NCCL does
    expect(file.get() >= 0, "no dmabuf");
    return net.regMrDmaBuf(comm, data(), device_->size(), type, 0, file.get(), memory);
  }

  static constexpr std::byte kFiller{0xee};

 private:
  Kind kind_;
  std::vector<std::byte> host_;
  std::optional<emulated_cuda::Memory> device_;
};

inline void* plugin_symbol(const char* name) {
  void* const library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  expect(library != nullptr, library == nullptr ? dlerror() : "");
  void* const found = dlsym(library, name);
  expect(found != nullptr, name);
  return found;
}
inline nccl_abi::NetV8& loaded(nccl_abi::NetV8*) {
  return *static_cast<nccl_abi::NetV8*>(plugin_symbol("ncclNetPlugin_v8"));
}
inline nccl_abi::NetV12& loaded(nccl_abi::NetV12*) {
  return *static_cast<nccl_abi::NetV12*>(plugin_symbol("ncclNetPlugin_v12"));
}

// One message and the receive that it goes into.
struct Message {
  std::size_t bytes;
  std::size_t room;      // of the receive
  std::size_t from, to;  // where in the two buffers
};

inline std::byte content(std::size_t at, std::size_t seed) {
  return static_cast<std::byte>((at * 131 + (at >> 9) * 7 + seed * 29) >> 1);
}

template <typename Net>
class End {
 public:
  End() : driver_(loaded(static_cast<Net*>(nullptr))) {
    must(driver_.init(), "init");
    must(net().getProperties(0, &properties_), "getProperties");
    started_ = logged();
  }

  Net& net() { return driver_.net(); }
  Driver<Net>& driver() { return driver_; }
  const auto& properties() const { return properties_; }
  const std::string& started() const { return started_; }  // what init logged
  void* comm() const { return comm_; }

  void must(Result result, const std::string& call) {
    if (result != Result::success)
      throw std::runtime_error(call + ": " + std::to_string(static_cast<int>(result)) + "\n" +
                               logged());
  }
  // The log's lines about a call that must fail.
  std::string refused(Result result, const std::string& call) {
    expect(result != Result::success, call + " has not failed");
    return logged();
  }

  void connect(const Other& other) {
    auto handle = other.hear<Handle>();
    while (comm_ == nullptr) must(driver_.connect(0, handle, &comm_), "connect");
  }
  void accept(const Other& other) {
    Handle handle{};
    void* listener = nullptr;
    must(driver_.listen(0, handle, &listener), "listen");
    other.tell(handle);
    while (comm_ == nullptr) must(driver_.accept(listener, &comm_), "accept");
    must(net().closeListen(listener), "closeListen");
  }

  // The other end must be through with it.
  void close_sender() {
    must(net().closeSend(comm_), "closeSend");
    must(driver_.finalize(), "finalize");
  }
  void close_receiver() {
    must(net().closeRecv(comm_), "closeRecv");
    must(driver_.finalize(), "finalize");
  }

  void* known(Buffer& buffer) {
    void* memory = nullptr;
    must(buffer.register_with(net(), comm_, &memory), "registering");
    return memory;
  }

  void* send(Buffer& buffer, void* memory, const Message& message) {
    void* request = nullptr;
    while (request == nullptr)
      must(driver_.send(comm_, buffer.data() + message.from, message.bytes, 3, memory, &request),
           "isend");
    return request;
  }
  void* receive(Buffer& buffer, void* memory, const Message& message) {
    void* request = nullptr;
    while (request == nullptr)
      must(driver_.receive(comm_, {buffer.data() + message.to}, {message.room}, {3}, {memory},
                           &request),
           "irecv");
    return request;
  }
  // Until the request is over; returns the bytes that test told.
  std::size_t wait(void* request) {
    int bytes = -1;
    must(driver_.wait(request, &bytes), "test");
    return static_cast<std::size_t>(bytes);
  }
  // As NCCL does for what came into a GPU's memory.
  void flush(Buffer& buffer, void* memory, const Message& message) {
    void* data = buffer.data() + message.to;
    int bytes = static_cast<int>(message.bytes);
    void* request = nullptr;
    must(net().iflush(comm_, 1, &data, &bytes, &memory, &request), "iflush");
    if (request != nullptr) must(driver_.wait(request, nullptr), "test of a flush");
  }

  // Sends all from a buffer of this kind whose contents the seed tells, some at once.
  void send_all(Kind kind, const std::vector<Message>& messages, std::size_t seed) {
    Buffer buffer(kind, messages.back().from + messages.back().bytes + 1);
    std::vector<std::byte> contents(buffer.size());
    for (std::size_t i = 0; i < contents.size(); ++i) contents[i] = content(i, seed);
    buffer.write(contents);
    void* const memory = known(buffer);
    std::deque<std::pair<void*, std::size_t>> flying;
    const auto end_one = [&] {
      expect(wait(flying.front().first) == flying.front().second, "test told a sender other bytes");
      flying.pop_front();
    };
    for (const Message& message : messages) {
      if (flying.size() == kFlying) end_one();
      flying.emplace_back(send(buffer, memory, message), message.bytes);
    }
    while (!flying.empty()) end_one();
    must(net().deregMr(comm_, memory), "deregMr");
  }
  // The other end of it: compares every byte of the buffer, also those that nothing came into.
  void receive_all(Kind kind, const std::vector<Message>& messages, std::size_t seed) {
    Buffer buffer(kind, messages.back().to + messages.back().room + 64);
    void* const memory = known(buffer);
    std::vector<std::byte> wanted(buffer.size(), Buffer::kFiller);
    std::deque<std::pair<void*, const Message*>> flying;
    const auto end_one = [&] {
      const auto [request, message] = flying.front();
      flying.pop_front();
      const std::size_t came = wait(request);
      expect(came == message->bytes,
             "received " + std::to_string(came) + " bytes of " + std::to_string(message->bytes));
      if (kind != Kind::host && came > 0) flush(buffer, memory, *message);
    };
    for (const Message& message : messages) {
      for (std::size_t i = 0; i < message.bytes; ++i)
        wanted[message.to + i] = content(message.from + i, seed);
      if (flying.size() == kFlying) end_one();
      flying.emplace_back(receive(buffer, memory, message), &message);
    }
    while (!flying.empty()) end_one();
    const std::vector<std::byte> got = buffer.read();
    const auto wrong = std::mismatch(got.begin(), got.end(), wanted.begin()).first;
    expect(wrong == got.end(), "byte " + std::to_string(wrong - got.begin()) + " is wrong");
    must(net().deregMr(comm_, memory), "deregMr");
  }

 private:
  static constexpr std::size_t kFlying = 8;  // as many as NCCL has

  Driver<Net> driver_;
  std::conditional_t<std::is_same_v<Net, nccl_abi::NetV12>, nccl_abi::PropertiesV12,
                     nccl_abi::PropertiesV8>
      properties_{};
  std::string started_;
  void* comm_ = nullptr;
};

}  // namespace heddle::nccl_net::testing
