// Transports of one process that meet as if they were several.
#include "transport/shared_memory/transport.hpp"

#include <unistd.h>

#include <cstdio>

#include "catch.hpp"
#include "support.hpp"

using namespace heddle;
using namespace heddle::transport;
using namespace heddle::transport::testing;

namespace {

struct Two {
  Two() {
    a.add_secret(kCommunicator, kSecret);
    b.add_secret(kCommunicator, kSecret);
  }
  SharedMemoryTransport a;
  SharedMemoryTransport b;
};

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
  fclose(file);
  return resident * 4096;
}

}  // namespace

TEST_CASE("a pipe carries thousands of messages of random sizes in order") {
  Two two;
  Ends ends = connect_both(two.a, two.b, key(0, 1));
  std::thread sender([&] { send_many(*ends.send, 5, 4000); });
  const int wrong = receive_many(*ends.receive, 5, 4000);
  sender.join();
  CHECK(wrong == -1);
}

TEST_CASE("ranks of one process share one transport: several channels, both directions") {
  SharedMemoryTransport shm;
  shm.add_secret(kCommunicator, kSecret);
  constexpr int kChannels = 3;
  auto rank = [&](int self) {
    std::vector<Ends> channels(kChannels);
    until([&] {
      bool all = true;
      for (int c = 0; c < kChannels; ++c) {
        auto& [send, receive] = channels[static_cast<std::size_t>(c)];
        if (!send) send = shm.connect(shm.address(), key(self, 1 - self, c), kOptions);
        if (!receive) receive = shm.accept(shm.address(), key(1 - self, self, c), kOptions);
        all = all && send && receive;
      }
      return all;
    });
    int wrong = 0;
    for (int n = 0; n < 500; ++n) {
      for (int c = 0; c < kChannels; ++c) {
        const std::uint64_t seed = static_cast<std::uint64_t>(10 * self + c);
        const std::size_t bytes = static_cast<std::size_t>(1 + (n * 97 + c) % 8192);
        SendPipe& out = *channels[static_cast<std::size_t>(c)].send;
        fill(until([&] { return out.acquire(bytes); }), bytes, seed, static_cast<std::uint64_t>(n));
        out.commit(bytes);
      }
      for (int c = 0; c < kChannels; ++c) {
        const std::uint64_t seed = static_cast<std::uint64_t>(10 * (1 - self) + c);
        const std::size_t bytes = static_cast<std::size_t>(1 + (n * 97 + c) % 8192);
        ReceivePipe& in = *channels[static_cast<std::size_t>(c)].receive;
        const std::byte* const data = until([&] { return in.peek(bytes); });
        if (!matches(data, bytes, seed, static_cast<std::uint64_t>(n))) ++wrong;
        in.release();
        shm.progress();
      }
    }
    return wrong;
  };
  int wrong = -1;
  std::thread other([&] { wrong = rank(1); });
  CHECK(rank(0) == 0);
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("two ends that connect first and accept later do not wait for each other for ever") {
  Two two;
  std::unique_ptr<SendPipe> ab;
  std::unique_ptr<SendPipe> ba;
  until([&] {
    if (!ab) ab = two.a.connect(two.b.address(), key(0, 1), kOptions);
    if (!ba) ba = two.b.connect(two.a.address(), key(1, 0), kOptions);
    return ab && ba;
  });
  send_many(*ab, 3, kOptions.slots);
  send_many(*ba, 4, kOptions.slots);
  auto at_b = until([&] { return two.b.accept(two.a.address(), key(0, 1), kOptions); });
  auto at_a = until([&] { return two.a.accept(two.b.address(), key(1, 0), kOptions); });
  CHECK(receive_many(*at_b, 3, kOptions.slots) == -1);
  CHECK(receive_many(*at_a, 4, kOptions.slots) == -1);
}

TEST_CASE("communicators with the same ranks do not meet") {
  Two two;
  const CommunicatorId other = {9};
  const PipeSecret secret = {99};
  two.a.add_secret(other, secret);
  two.b.add_secret(other, secret);
  Ends first = connect_both(two.a, two.b, key(0, 1));
  Ends second = connect_both(two.a, two.b, {other, 0, 1, 0});
  send_many(*second.send, 2, 3);
  CHECK(first.receive->peek(1) == nullptr);
  CHECK(receive_many(*second.receive, 2, 3) == -1);
}

TEST_CASE("slots that are not used cost no memory") {
  Two two;
  const PipeOptions large = {16, std::size_t{16} << 20};
  const std::size_t before = resident_bytes();
  std::vector<Ends> pipes;
  for (int i = 0; i < 32; ++i) pipes.push_back(connect_both(two.a, two.b, key(0, 1, i), large));
  for (Ends& ends : pipes) {
    std::memset(ends.send->acquire(8), 1, 8);
    ends.send->commit(8);
    REQUIRE(ends.receive->peek(8) != nullptr);
    ends.receive->release();
  }
  CHECK(resident_bytes() - before < std::size_t{8} << 20);
}

TEST_CASE("pipes keep no descriptor, and 200 of them leave none") {
  Two two;
  { Ends warm = connect_both(two.a, two.b, key(0, 1)); }
  const int before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    Ends ends = connect_both(two.a, two.b, key(0, 1));
    CHECK(open_descriptors() == before);
    send_many(*ends.send, 1, 2);
    CHECK(receive_many(*ends.receive, 1, 2) == -1);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("transports leave no descriptor") {
  const int before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    Two two;
    Ends ends = connect_both(two.a, two.b, key(0, 1));
    // One that is never finished.
    two.a.connect(two.b.address(), key(0, 1, 1), kOptions);
    two.b.progress();
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("a pipe outlives its transport's interest in the communicator") {
  Two two;
  Ends ends = connect_both(two.a, two.b, key(0, 1));
  two.a.remove_secret(kCommunicator);
  two.b.remove_secret(kCommunicator);
  send_many(*ends.send, 1, 3);
  CHECK(receive_many(*ends.receive, 1, 3) == -1);
  const std::string text = error_of([&] { two.a.connect(two.b.address(), key(0, 1), kOptions); });
  CHECK(text.find("has no secret here") != std::string::npos);
  CHECK(error_of([&] { two.b.accept(two.a.address(), key(0, 1), kOptions); }) != "");
}

TEST_CASE("a secret counts its users") {
  Two two;
  two.a.add_secret(kCommunicator, kSecret);
  two.a.remove_secret(kCommunicator);
  Ends ends = connect_both(two.a, two.b, key(0, 1));
  CHECK(ends.send != nullptr);
  CHECK_THROWS_AS(two.a.add_secret(kCommunicator, PipeSecret{8}), base::Error);
}

TEST_CASE("a ring that nobody accepted tells its sender when the communicator leaves") {
  Two two;
  auto send = until([&] {
    two.b.progress();
    return two.a.connect(two.b.address(), key(0, 1), kOptions);
  });
  two.b.remove_secret(kCommunicator);
  for (int i = 0; i < kOptions.slots; ++i) {
    send->acquire(8);
    send->commit(8);
  }
  CHECK(error_of([&] { send->acquire(8); }).find("rank 1 closed its end") != std::string::npos);
}

TEST_CASE("ends that disagree about the slots both learn it") {
  Two two;
  std::unique_ptr<SendPipe> send;
  const std::string text = error_of([&] {
    until([&] {
      if (!send) send = two.a.connect(two.b.address(), key(0, 1), {8, 8192});
      return two.b.accept(two.a.address(), key(0, 1), {4, 4096});
    });
  });
  CHECK(text.find("rank 0 made 8 slots of 8192 bytes where rank 1 expects 4 of 4096") !=
        std::string::npos);
  if (!send) send = until([&] { return two.a.connect(two.b.address(), key(0, 1), {8, 8192}); });
  for (int i = 0; i < 8; ++i) {
    send->acquire(8);
    send->commit(8);
  }
  CHECK(error_of([&] { send->acquire(8); }).find("rank 1 closed its end") != std::string::npos);
}

TEST_CASE("malformed addresses are refused, the own one is reached") {
  Two two;
  CHECK(two.a.name() == "shm");
  CHECK(two.a.address().find("shm:") == 0);
  CHECK(two.a.address().find(std::to_string(getpid())) != std::string::npos);
  CHECK(two.a.address() != two.b.address());
  CHECK(two.a.reaches(two.b.address()));
  for (const char* bad : {"", "shm", "shm::1:2", "shm:3:1:2", "shm:zz:1:2", "shm:30:x:2",
                          "shm:30:1", "shm:30:1:2:3", "tcp:30:1:2", "shm:30:1:2 "}) {
    INFO(bad);
    const std::string text = error_of([&] { two.a.connect(bad, key(0, 1), kOptions); });
    CHECK(text.find("malformed shared-memory address") != std::string::npos);
  }
  CHECK(error_of([&] {
          two.a.connect("shm:" + std::string(216, '3') + ":1:2", key(0, 1), kOptions);
        }).find("malformed") != std::string::npos);
}

TEST_CASE("an address of another network namespace is refused at once, by both ends") {
  Two two;
  const std::string elsewhere = "shm:3030303030:1:1";
  CHECK_FALSE(two.a.reaches(elsewhere));
  for (const std::string& text : {error_of([&] { two.a.connect(elsewhere, key(0, 1), kOptions); }),
                                  error_of([&] { two.a.accept(elsewhere, key(1, 0), kOptions); })})
    CHECK(text.find("another network namespace") != std::string::npos);
}

TEST_CASE("a peer that has ended is an error, not a wait") {
  Two two;
  std::string gone;
  {
    SharedMemoryTransport short_lived;
    gone = short_lived.address();
  }
  CHECK(error_of([&] { two.a.connect(gone, key(0, 1), kOptions); }).find("6 nobody listens") == 0);

  auto leaving = std::make_unique<SharedMemoryTransport>();
  const std::string address = leaving->address();
  CHECK(two.a.connect(address, key(0, 1), kOptions) == nullptr);
  leaving.reset();
  CHECK(error_of([&] {
          until([&] { return two.a.connect(address, key(0, 1), kOptions); });
        }).find("rank 1 (process ") != std::string::npos);
}
