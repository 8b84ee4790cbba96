// Two processes' ends of fabric pipes, in one process and driven by two threads, or in two.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "support/pipes.hpp"
#include "transport/fabric/fabric_transport.hpp"
#include "transport/fabric/provider.hpp"

namespace fabric_test {

using namespace heddle;
using test::kCommunicator;
using test::key;
using test::kPatience;
using test::pattern;
using transport::FabricTransport;
using transport::PipeKey;
using transport::PipeOptions;
using transport::ReceivePipe;
using transport::SendPipe;

inline const std::vector<std::string> kLoopback = {"lo"};
inline constexpr transport::PipeSecret kSecret = {4, 5, 6};

inline base::Settings settings(const std::string& provider, bool rma = true) {
  base::Settings result;
  result.provider = provider;
  result.rma = rma;
  result.timeout = 5;
  return result;
}

inline std::unique_ptr<FabricTransport> open_fabric(const base::Settings& with) {
  auto fabric = std::make_unique<FabricTransport>(with, kLoopback);
  fabric->add_secret(kCommunicator, kSecret);
  return fabric;
}

// Loopback so many times stands for so many adapters.
inline std::unique_ptr<FabricTransport> open_rails(const base::Settings& with, int rails) {
  auto provider = transport::fabric::choose_provider(with, kLoopback);
  for (int i = 0; i < rails; ++i) {
    if (i > 0) {
      const auto& first = provider.adapters[0];
      provider.adapters.push_back(
          {first.adapter, transport::fabric::Info(fi_dupinfo(first.info.get())), first.send_bytes});
    }
    provider.adapters.back().adapter.name = "lo" + std::to_string(i);
  }
  auto fabric = std::make_unique<FabricTransport>(with, provider);
  fabric->add_secret(kCommunicator, kSecret);
  return fabric;
}

template <typename Try>
auto eventually(FabricTransport& fabric, const char* what, Try attempt) {
  return test::eventually(what, attempt, [&] { fabric.progress(); });
}

inline std::unique_ptr<SendPipe> connect(FabricTransport& fabric, const std::string& peer,
                                         const PipeKey& k, const PipeOptions& options) {
  return eventually(fabric, "connect", [&] { return fabric.connect(peer, k, options); });
}

inline std::unique_ptr<ReceivePipe> accept(FabricTransport& fabric, const std::string& peer,
                                           const PipeKey& k, const PipeOptions& options) {
  return eventually(fabric, "accept", [&] { return fabric.accept(peer, k, options); });
}

inline void send(FabricTransport& fabric, SendPipe& pipe, int from, std::size_t number,
                 std::size_t bytes) {
  std::byte* slot = eventually(fabric, "acquire", [&] { return pipe.acquire(bytes); });
  for (std::size_t i = 0; i < bytes; ++i) slot[i] = pattern(from, number, i);
  pipe.commit(bytes);
}

// A thread may stop driving its transport only when all it sent has left.
inline void flush(FabricTransport& fabric, SendPipe& pipe) {
  eventually(fabric, "flush", [&] { return pipe.flushed(); });
}

inline void expect(FabricTransport& fabric, ReceivePipe& pipe, int from, std::size_t number,
                   std::size_t bytes) {
  const std::byte* slot = eventually(fabric, "peek", [&] { return pipe.peek(bytes); });
  for (std::size_t i = 0; i < bytes; ++i)
    if (slot[i] != pattern(from, number, i))
      base::fail(heddleInternalError, "test: message {} of {} bytes is wrong at byte {}", number,
                 bytes, i);
  pipe.release();
}

// Runs both at once; the first exception goes on in the caller.
inline void both(const std::function<void()>& one, const std::function<void()>& other) {
  std::exception_ptr errors[2];
  const auto guarded = [&](const std::function<void()>& run, std::exception_ptr& error) {
    try {
      run();
    } catch (...) {
      error = std::current_exception();
    }
  };
  std::thread thread([&] { guarded(other, errors[1]); });
  guarded(one, errors[0]);
  thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

struct Way {
  std::string provider;
  bool rma;
  int repeat;  // how many messages a test may afford
};

// What libfabric has here of the ways we promise; "tcp" is there always.
inline std::vector<Way> ways() {
  std::vector<Way> result;
  const auto reports = transport::fabric::survey(base::Settings{}, kLoopback);
  const auto usable = [&](const std::string& name) {
    return std::ranges::any_of(reports, [&](const auto& r) { return r.usable && r.name == name; });
  };
  for (const bool rma : {true, false}) {
    result.push_back({"tcp", rma, 2000});
    if (usable("tcp;ofi_rxm")) result.push_back({"tcp;ofi_rxm", rma, 1000});
    // Its own thread polls with naps of milliseconds.
    if (usable("sockets")) result.push_back({"sockets", rma, 20});
  }
  return result;
}

// One pipe each way between two transports.
struct Two {
  std::unique_ptr<FabricTransport> fabric[2];
  std::unique_ptr<SendPipe> send[2];
  std::unique_ptr<ReceivePipe> receive[2];

  Two(const base::Settings& with, const PipeOptions& options)
      : Two(open_fabric(with), open_fabric(with), options) {}

  Two(std::unique_ptr<FabricTransport> one, std::unique_ptr<FabricTransport> other,
      const PipeOptions& options) {
    fabric[0] = std::move(one);
    fabric[1] = std::move(other);
    const std::string address[2] = {fabric[0]->address(), fabric[1]->address()};
    const auto join = [&](int me) {
      send[me] = connect(*fabric[me], address[1 - me], key(me, 1 - me), options);
    };
    both(
        [&] {
          join(0);
          receive[0] = accept(*fabric[0], address[1], key(1, 0), options);
        },
        [&] {
          receive[1] = accept(*fabric[1], address[0], key(0, 1), options);
          join(1);
        });
  }
  // Both at once, so that neither waits for the other's goodbye.
  ~Two() {
    const auto leave = [&](int me) {
      send[me].reset();
      receive[me].reset();
      fabric[me].reset();
    };
    both([&] { leave(0); }, [&] { leave(1); });
  }
};

}  // namespace fabric_test
