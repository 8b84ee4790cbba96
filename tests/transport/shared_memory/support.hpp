// What the tests of shared memory share: keys, messages whose every byte is known, and loops that
// end in an error instead of a hang.
#pragma once

#include <dirent.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "transport/shared_memory/transport.hpp"

namespace heddle::transport::testing {

inline constexpr base::Seconds kPatience{20};
inline constexpr CommunicatorId kCommunicator = {7, 7, 7};
inline constexpr PipeSecret kSecret = {1, 2, 3, 4};
inline constexpr PipeOptions kOptions = {4, 8192};

inline PipeKey key(int from, int to, int channel = 0) { return {kCommunicator, from, to, channel}; }

// Calls `attempt` until it gives something that is not null or false.
template <typename Attempt>
auto until(Attempt attempt) {
  const base::Deadline deadline(kPatience);
  for (;;) {
    if (auto got = attempt()) return got;
    if (deadline.passed()) base::fail(heddleTimeout, "the test waited {} s", kPatience.count());
    std::this_thread::yield();
  }
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

// Byte i of message n of a pipe: depends on all three.
inline std::byte pattern(std::uint64_t seed, std::uint64_t message, std::size_t i) {
  return static_cast<std::byte>((seed * 131 + message * 31 + i * 7 + (i >> 8)) & 0xff);
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

// The text of the base::Error that `attempt` throws, with its code in front; "" when it throws
// none.
template <typename Attempt>
std::string error_of(Attempt attempt) {
  try {
    attempt();
  } catch (const base::Error& error) {
    return fmt::format("{} {}", static_cast<int>(error.code()), error.what());
  }
  return "";
}

inline int open_descriptors() {
  int count = 0;
  DIR* const directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count - 3;  // ".", ".." and the directory itself
}

}  // namespace heddle::transport::testing
