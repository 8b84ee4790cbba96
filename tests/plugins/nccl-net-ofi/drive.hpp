// Calls a net plugin as NCCL does, whatever the version of its table: what a version calls with
// other arguments is chosen by what the compiler accepts.
#pragma once

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "catch.hpp"
#include "nccl-net-ofi/abi/net_v10.hpp"
#include "nccl-net-ofi/abi/net_v11.hpp"
#include "nccl-net-ofi/abi/net_v12.hpp"
#include "nccl-net-ofi/abi/net_v5.hpp"
#include "nccl-net-ofi/abi/net_v6.hpp"
#include "nccl-net-ofi/abi/net_v7.hpp"
#include "nccl-net-ofi/abi/net_v8.hpp"
#include "nccl-net-ofi/abi/net_v9.hpp"

namespace heddle::nccl_net::testing {

using nccl_abi::Result;

struct LogLine {
  nccl_abi::LogLevel level;
  unsigned long flags;
  std::string text;
};

inline std::mutex log_mutex;
inline std::vector<LogLine> log_lines;

inline void logger(nccl_abi::LogLevel level, unsigned long flags, const char*, int,
                   const char* format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(log_mutex);
  log_lines.push_back({level, flags, text});
}

// All since it was last called, "WARN text" or "INFO text" a line.
inline std::string logged() {
  const std::lock_guard lock(log_mutex);
  std::string all;
  for (const auto& line : log_lines)
    all += (line.level == nccl_abi::LogLevel::warn ? "WARN " : "INFO ") + line.text + "\n";
  log_lines.clear();
  return all;
}

using Handle = std::array<char, nccl_abi::kHandleBytes>;

template <typename Net>
class Driver {
 public:
  explicit Driver(Net& net) : net_(net) {}

  Result init() {
    if constexpr (requires { net_.init(logger); })
      return net_.init(logger);
    else if constexpr (requires { net_.init(logger, nullptr); })
      return net_.init(logger, nullptr);
    else
      return net_.init(&context_, 7, &config_, logger, nullptr);
  }
  Result finalize() {
    if constexpr (requires { net_.finalize(context_); }) return net_.finalize(context_);
    return Result::success;
  }

  Result listen(int device, Handle& handle, void** comm) {
    if constexpr (requires { net_.listen(context_, device, handle.data(), comm); })
      return net_.listen(context_, device, handle.data(), comm);
    else
      return net_.listen(device, handle.data(), comm);
  }

  // Null device handles, or a pointer to null: both are what NCCL gives.
  Result connect(int device, Handle& handle, void** comm) {
    nccl_abi::DevHandle* none = nullptr;
    if constexpr (requires { net_.connect(device, handle.data(), comm); })
      return net_.connect(device, handle.data(), comm);
    else if constexpr (requires { net_.connect(device, handle.data(), comm, &none); })
      return net_.connect(device, handle.data(), comm, &none);
    else if constexpr (requires { net_.connect(device, &config_, handle.data(), comm, &none); })
      return net_.connect(device, &config_, handle.data(), comm, nullptr);
    else
      return net_.connect(context_, device, handle.data(), comm, &none);
  }

  Result accept(void* listener, void** comm) {
    nccl_abi::DevHandle* none = nullptr;
    if constexpr (requires { net_.accept(listener, comm); })
      return net_.accept(listener, comm);
    else
      return net_.accept(listener, comm, &none);
  }

  // Both calls of a loopback pair from one thread, in turns.
  void pair(int device, void** sender, void** receiver, void** listener) {
    Handle handle{};
    REQUIRE(listen(device, handle, listener) == Result::success);
    REQUIRE(*listener != nullptr);
    *sender = *receiver = nullptr;
    for (int tries = 0; tries < 100000 && (*sender == nullptr || *receiver == nullptr); ++tries) {
      if (*sender == nullptr) REQUIRE(connect(device, handle, sender) == Result::success);
      if (*receiver == nullptr) REQUIRE(accept(*listener, receiver) == Result::success);
    }
    REQUIRE(*sender != nullptr);
    REQUIRE(*receiver != nullptr);
  }

  Result send(void* comm, void* data, std::size_t bytes, int tag, void* memory, void** request) {
    if constexpr (requires { net_.isend(comm, data, bytes, tag, memory, nullptr, request); })
      return net_.isend(comm, data, bytes, tag, memory, nullptr, request);
    else
      return net_.isend(comm, data, static_cast<int>(bytes), tag, memory, request);
  }

  // `request` as NCCL leaves it: perhaps the mark of an optional completion.
  Result receive(void* comm, std::vector<void*> data, std::vector<std::size_t> bytes,
                 std::vector<int> tags, std::vector<void*> memories, void** request) {
    const int count = static_cast<int>(data.size());
    std::vector<int> narrow(bytes.begin(), bytes.end());
    void** const all = memories.data();
    if constexpr (requires {
                    net_.irecv(comm, count, data.data(), bytes.data(), tags.data(), all, request);
                  })
      return net_.irecv(comm, count, data.data(), bytes.data(), tags.data(), all, request);
    else if constexpr (requires {
                         net_.irecv(comm, count, data.data(), narrow.data(), tags.data(), all,
                                    request);
                       })
      return net_.irecv(comm, count, data.data(), narrow.data(), tags.data(), all, request);
    else
      return net_.irecv(comm, count, data.data(), bytes.data(), tags.data(), all, nullptr, request);
  }

  Result wait(void* request, int* sizes) {
    int done = 0;
    Result result = Result::success;
    for (int tries = 0; tries < 100000000 && done == 0 && result == Result::success; ++tries)
      result = net_.test(request, &done, sizes);
    return result == Result::success && done == 0 ? Result::in_progress : result;
  }

  Net& net() { return net_; }
  void*& context() { return context_; }

 private:
  Net& net_;
  void* context_ = nullptr;
  nccl_abi::CommConfig config_{nccl_abi::kUndefined};
};

}  // namespace heddle::nccl_net::testing
