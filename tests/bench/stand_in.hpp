// A stand-in for the library: ranks are threads, and an operation is each of them reading all send
// buffers. Floats and 32-bit integers, sum. `spoil` is called on each rank's output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "harness/control.hpp"
#include "harness/names.hpp"
#include "harness/session.hpp"

namespace heddle::bench {

class StandIn : public Session {
 public:
  using Spoil = std::function<void(int rank, void* output, std::size_t bytes)>;

  StandIn(Control& control, Spoil spoil) : control_(control), spoil_(std::move(spoil)) {}

  void all_reduce(const Call& call) override { run(call, sum(call, 0)); }
  void reduce_scatter(const Call& call) override {
    run(call, sum(call, call.count * static_cast<std::size_t>(control_.rank())));
  }
  void all_gather(const Call& call) override {
    run(call, [call](const Sends& sends) { return joined(sends, 0, call); });
  }
  void broadcast(const Call& call) override {
    run(call, [call](const Sends& sends) { return cut(sends[index(call.root)], 0, call); });
  }
  void reduce(const Call& call) override { run(call, at_root(call) ? sum(call, 0) : nothing); }
  void gather(const Call& call) override {
    run(call, at_root(call) ? [call](const Sends& sends) { return joined(sends, 0, call); }
                            : Compute(nothing));
  }
  void scatter(const Call& call) override {
    run(call, [call, own = control_.rank()](const Sends& sends) {
      return cut(sends[index(call.root)], own, call);
    });
  }
  void all_to_all(const Call& call) override {
    run(call,
        [call, own = control_.rank()](const Sends& sends) { return joined(sends, own, call); });
  }
  void exchange(const Call& call, int, int from) override {
    run(call, [call, from](const Sends& sends) { return cut(sends[index(from)], 0, call); });
  }
  void* allocate(std::size_t bytes) override {
    return buffers_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }
  std::string network() const override { return "Network: stand-in of the tests"; }
  int library_version() const override { return 1; }

 private:
  using Sends = std::vector<const std::byte*>;
  using Compute = std::function<std::vector<std::byte>(const Sends&)>;

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  bool at_root(const Call& call) const { return control_.rank() == call.root; }
  static std::vector<std::byte> nothing(const Sends&) { return {}; }
  // Part `part` of a send buffer, and of all of them.
  static std::vector<std::byte> cut(const std::byte* send, int part, const Call& call) {
    const std::size_t bytes = call.count * size_of(call.type);
    return {send + index(part) * bytes, send + (index(part) + 1) * bytes};
  }
  static std::vector<std::byte> joined(const Sends& sends, int part, const Call& call) {
    std::vector<std::byte> out;
    for (const std::byte* send : sends)
      for (const std::byte value : cut(send, part, call)) out.push_back(value);
    return out;
  }

  template <typename T>
  static std::vector<std::byte> add(const Sends& sends, std::size_t first, std::size_t count) {
    std::vector<T> out(count);
    for (const std::byte* send : sends)
      for (std::size_t i = 0; i < count; ++i) {
        T value;
        std::memcpy(&value, send + (first + i) * sizeof(T), sizeof(T));
        out[i] = static_cast<T>(out[i] + value);
      }
    const auto* bytes = reinterpret_cast<const std::byte*>(out.data());
    return {bytes, bytes + count * sizeof(T)};
  }
  static Compute sum(const Call& call, std::size_t first) {
    if (call.op != Op::sum || (call.type != heddleFloat32 && call.type != heddleUint32))
      throw std::logic_error("the stand-in only adds float and uint32");
    return [call, first](const Sends& sends) {
      return call.type == heddleFloat32 ? add<float>(sends, first, call.count)
                                        : add<std::uint32_t>(sends, first, call.count);
    };
  }
  // In place, an output lies in an input that others still read: compute, meet, write, meet.
  void run(const Call& call, const Compute& compute) {
    Sends sends(static_cast<std::size_t>(control_.ranks()));
    control_.all_gather(&call.send, sends.data(), sizeof call.send);
    const std::vector<std::byte> out = compute(sends);
    control_.barrier();
    std::copy(out.begin(), out.end(), static_cast<std::byte*>(call.receive));
    if (spoil_) spoil_(control_.rank(), call.receive, out.size());
    control_.barrier();
  }

  Control& control_;
  Spoil spoil_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
};

// Runs `body(control, session)` on `ranks` threads and throws what the first of them threw.
template <typename Body>
void on_threads(int ranks, const StandIn::Spoil& spoil, Body body) {
  SharedRegion region(ranks);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        SharedControl control(region, rank, ranks);
        StandIn session(control, spoil);
        body(static_cast<Control&>(control), static_cast<Session&>(session));
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace heddle::bench
