// The ring itself, both ends on one mapping: what a sanitizer of threads can follow.
#include "transport/shared_memory/pipe_ends.hpp"

#include "catch.hpp"
#include "support.hpp"

using namespace heddle;
using namespace heddle::transport;
using namespace heddle::transport::testing;

namespace {

struct Ring {
  explicit Ring(const PipeOptions& options = kOptions)
      : memory(create_ring(options).memory),
        send(std::make_unique<SharedMemorySendPipe>(memory, key(3, 5), options)),
        receive(std::make_unique<SharedMemoryReceivePipe>(memory, key(3, 5), options)) {}
  RingMemory memory;
  std::unique_ptr<SharedMemorySendPipe> send;
  std::unique_ptr<SharedMemoryReceivePipe> receive;
};

void put(SendPipe& pipe, std::size_t bytes, std::uint64_t message) {
  std::byte* const slot = pipe.acquire(bytes);
  REQUIRE(slot != nullptr);
  fill(slot, bytes, 1, message);
  pipe.commit(bytes);
}

void get(ReceivePipe& pipe, std::size_t bytes, std::uint64_t message) {
  const std::byte* const slot = pipe.peek(bytes);
  REQUIRE(slot != nullptr);
  REQUIRE(matches(slot, bytes, 1, message));
  pipe.release();
}

}  // namespace

TEST_CASE("a ring holds as many messages as it has slots, whatever their number") {
  for (const int slots : {4, 5, 8, 33}) {
    Ring ring({slots, 4096});
    std::uint64_t sent = 0;
    std::uint64_t got = 0;
    for (int round = 0; round < 7; ++round) {
      const std::size_t bytes = round % 2 == 0 ? 8 : 4096;
      CHECK(ring.receive->peek(bytes) == nullptr);
      for (int i = 0; i < slots; ++i) put(*ring.send, bytes, sent++);
      CHECK(ring.send->acquire(bytes) == nullptr);
      get(*ring.receive, bytes, got++);
      put(*ring.send, bytes, sent++);
      CHECK(ring.send->acquire(bytes) == nullptr);
      while (got < sent) get(*ring.receive, bytes, got++);
    }
    CHECK(ring.receive->peek(1) == nullptr);
  }
}

TEST_CASE("every size arrives whole, beside its header or in a slot") {
  Ring ring;
  std::uint64_t message = 0;
  for (std::size_t bytes = 1; bytes <= kOptions.slot_bytes; bytes += bytes < 200 ? 1 : 499) {
    put(*ring.send, bytes, message);
    get(*ring.receive, bytes, message++);
  }
  put(*ring.send, kOptions.slot_bytes, message);
  get(*ring.receive, kOptions.slot_bytes, message);
}

TEST_CASE("acquire and peek give the same memory until commit and release") {
  Ring ring;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{5000}}) {
    std::byte* const slot = ring.send->acquire(bytes);
    REQUIRE(slot != nullptr);
    CHECK(ring.send->acquire(bytes) == slot);
    fill(slot, bytes, 1, 0);
    CHECK(ring.receive->peek(bytes) == nullptr);
    ring.send->commit(bytes);
    const std::byte* const seen = ring.receive->peek(bytes);
    CHECK(seen == slot);
    CHECK(ring.receive->peek(bytes) == seen);
    ring.receive->release();
  }
}

TEST_CASE("slots do not overlap, and each starts a page") {
  Ring ring;
  const std::size_t bytes = kOptions.slot_bytes;
  std::vector<const std::byte*> slots;
  for (int i = 0; i < kOptions.slots; ++i) put(*ring.send, bytes, static_cast<std::uint64_t>(i));
  for (int i = 0; i < kOptions.slots; ++i) {
    slots.push_back(ring.receive->peek(bytes));
    CHECK(reinterpret_cast<std::uintptr_t>(slots.back()) % 4096 == 0);
    get(*ring.receive, bytes, static_cast<std::uint64_t>(i));
  }
  CHECK(slots.back() + bytes == ring.memory->data() + ring.memory->size());
}

TEST_CASE("a pipe of shared memory never sends in place") {
  Ring ring;
  const std::byte data[64] = {};
  CHECK_FALSE(ring.send->sends_in_place(1 << 20));
  CHECK_FALSE(ring.send->send_from(data, sizeof data).has_value());
  CHECK(ring.send->slot_bytes() == kOptions.slot_bytes);
  CHECK(ring.receive->slot_bytes() == kOptions.slot_bytes);
}

TEST_CASE("another length than expected is an error that names both") {
  for (const std::size_t sent : {std::size_t{16}, std::size_t{5000}}) {
    Ring ring;
    put(*ring.send, sent, 0);
    const std::string text = error_of([&] { ring.receive->peek(8); });
    CHECK(text.find(fmt::format("{} rank 3 sent {} bytes where 8 were expected",
                                static_cast<int>(heddleRemoteError), sent)) == 0);
    CHECK(text.find("from rank 3 to rank 5, channel 0") != std::string::npos);
    get(*ring.receive, sent, 0);  // looking with the right length still works
  }
}

TEST_CASE("what was sent before the sender closed is received, then comes the error") {
  Ring ring;
  put(*ring.send, 8, 0);
  put(*ring.send, 5000, 1);
  ring.send.reset();
  get(*ring.receive, 8, 0);
  get(*ring.receive, 5000, 1);
  const std::string text = error_of([&] { ring.receive->peek(8); });
  CHECK(text ==
        "6 rank 3 closed its end of the shared-memory pipe from rank 3 to rank 5, channel 0");
}

TEST_CASE("a sender learns that the receiver closed when it has no slot left") {
  Ring ring;
  ring.receive.reset();
  for (int i = 0; i < kOptions.slots; ++i) put(*ring.send, 8, 0);
  const std::string text = error_of([&] { ring.send->acquire(8); });
  CHECK(text ==
        "6 rank 5 closed its end of the shared-memory pipe from rank 3 to rank 5, channel 0");
}

TEST_CASE("bytes out of range are a fault of the caller") {
  Ring ring;
  CHECK_THROWS_AS(ring.send->acquire(0), base::Error);
  CHECK_THROWS_AS(ring.send->acquire(kOptions.slot_bytes + 1), base::Error);
  CHECK_THROWS_AS(ring.send->commit(8), base::Error);
  REQUIRE(ring.send->acquire(16) != nullptr);
  CHECK_THROWS_AS(ring.send->commit(8), base::Error);
}

TEST_CASE("options out of range are refused with what is allowed") {
  CHECK(error_of([] {
          create_ring({3, 4096});
        }).find("a pipe of 3 slots: 4 to 65536") != std::string::npos);
  CHECK(error_of([] { create_ring({1 << 20, 4096}); }).find("4 to 65536") != std::string::npos);
  CHECK(error_of([] { create_ring({4, 0}); }).find("slots of 0 bytes") != std::string::npos);
  CHECK(error_of([] { create_ring({4, 4097}); }).find("multiples of 4096") != std::string::npos);
  CHECK(error_of([] {
          create_ring({4, std::size_t{1} << 40});
        }).find("up to 1073741824") != std::string::npos);
}

TEST_CASE("two threads on one mapping: order, content and reuse of slots") {
  for (const int slots : {4, 7}) {
    Ring ring({slots, 8192});
    std::thread sender([&] { send_many(*ring.send, 11, 3000); });
    const int wrong = receive_many(*ring.receive, 11, 3000);
    sender.join();
    CHECK(wrong == -1);
  }
}

TEST_CASE("plain memory is ordered by commit and peek, and back by release and acquire") {
  Ring ring;
  constexpr int kRounds = 500;
  int shared = 0;  // not atomic: only the pipe orders the two threads
  std::thread sender([&] {
    for (int i = 1; i <= kRounds; ++i) {
      shared = i;
      for (int slot = 0; slot < kOptions.slots; ++slot) {
        std::memcpy(until([&] { return ring.send->acquire(sizeof i); }), &i, sizeof i);
        ring.send->commit(sizeof i);
      }
      // Room again: the first message of this round has been released.
      until([&] { return ring.send->acquire(sizeof i); });
    }
  });
  int wrong = 0;
  for (int i = 1; i <= kRounds; ++i) {
    for (int slot = 0; slot < kOptions.slots; ++slot) {
      until([&] { return ring.receive->peek(sizeof i); });
      if (slot == 0 && shared != i) ++wrong;
      ring.receive->release();
    }
  }
  sender.join();
  CHECK(wrong == 0);
}
