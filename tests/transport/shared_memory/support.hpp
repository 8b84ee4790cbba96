// What the tests of shared memory share: both ends of a pipe, and messages of many sizes.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "support/base_errors.hpp"
#include "support/descriptors.hpp"
#include "support/pipes.hpp"
#include "transport/shared_memory/transport.hpp"

namespace heddle::transport::testing {

using test::error_of;
using test::kCommunicator;
using test::key;
using test::kPatience;
using test::open_descriptors;
using test::pattern;

inline constexpr PipeSecret kSecret = {1, 2, 3, 4};
inline constexpr PipeOptions kOptions = {4, 8192};

// Calls `attempt` until it gives something that is not null or false.
template <typename Attempt>
auto until(Attempt attempt) {
  return test::eventually("what was waited for", attempt, [] {});
}

struct Ends {
  std::unique_ptr<SendPipe> send;
  std::unique_ptr<ReceivePipe> receive;
};

inline Ends connect_both(SharedMemoryTransport& from, SharedMemoryTransport& to,
                         const PipeKey& pipe, const PipeOptions& options = kOptions) {
  Ends ends;
  until([&] {
    if (!ends.send) ends.send = from.connect(to.address(), pipe, options);
    if (!ends.receive) ends.receive = to.accept(from.address(), pipe, options);
    return ends.send && ends.receive;
  });
  return ends;
}

inline void fill(std::byte* data, std::size_t bytes, std::uint64_t seed, std::uint64_t message) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(seed, message, i);
}

inline bool matches(const std::byte* data, std::size_t bytes, std::uint64_t seed,
                    std::uint64_t message) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (data[i] != pattern(seed, message, i)) return false;
  return true;
}

// Sizes that both ends draw alike: small, around the inline limit, and up to a whole slot.
class Sizes {
 public:
  Sizes(std::uint64_t seed, std::size_t most) : random_(seed), most_(most) {}
  std::size_t next() {
    switch (random_() % 4) {
      case 0: return 1 + random_() % 64;
      case 1: return 100 + random_() % 32;
      case 2: return most_ - random_() % 3;
      default: return 1 + random_() % most_;
    }
  }

 private:
  std::mt19937_64 random_;
  std::size_t most_;
};

inline void send_many(SendPipe& pipe, std::uint64_t seed, int messages) {
  Sizes sizes(seed, pipe.slot_bytes());
  for (int n = 0; n < messages; ++n) {
    const std::size_t bytes = sizes.next();
    fill(until([&] { return pipe.acquire(bytes); }), bytes, seed, static_cast<std::uint64_t>(n));
    pipe.commit(bytes);
  }
}

// The number of the first message that was not what send_many sent, or -1.
inline int receive_many(ReceivePipe& pipe, std::uint64_t seed, int messages) {
  Sizes sizes(seed, pipe.slot_bytes());
  for (int n = 0; n < messages; ++n) {
    const std::size_t bytes = sizes.next();
    const std::byte* const data = until([&] { return pipe.peek(bytes); });
    if (!matches(data, bytes, seed, static_cast<std::uint64_t>(n))) return n;
    pipe.release();
  }
  return -1;
}

}  // namespace heddle::transport::testing
