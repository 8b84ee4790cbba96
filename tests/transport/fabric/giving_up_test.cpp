// Pipes that are given up: nobody reads the caller's memory afterwards, and neither end keeps what
// it needed for them.
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "support.hpp"

using namespace fabric_test;

namespace {

// More than sockets hold, so that adapters have some of it in hand for as long as nobody reads.
constexpr PipeOptions kLong{8, 4 << 20};
constexpr std::size_t kAllSlots = 8ul * (4 << 20);

std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Drives both until the slots of a receiving end are unmapped.
void expect_unmapped(FabricTransport& a, FabricTransport& b, std::size_t with_slots) {
  CHECK_NOTHROW(eventually(a, "unmapping of the receiver's slots", [&] {
    b.progress();
    return mapped_bytes() + kAllSlots / 2 < with_slots;
  }));
}

}  // namespace

TEST_CASE("memory that a pipe sends from is let go of when the pipe is given up") {
  for (const int rails : {1, 2}) {
    INFO(rails << " rails");
    Two two(open_rails(settings("tcp"), rails), open_rails(settings("tcp"), rails), kLong);
    void* const memory = mmap(nullptr, kAllSlots, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    for (int i = 0; i < kLong.slots / 2; ++i)
      eventually(*two.fabric[0], "send_from", [&] {
        return two.send[0]->send_from(static_cast<const std::byte*>(memory) + i * kLong.slot_bytes,
                                      kLong.slot_bytes);
      });
    two.send[0]->give_up();
    CHECK_THROWS_AS(two.send[0]->acquire(1), base::Error);
    if (rails == 1) CHECK_FALSE(two.send[0]->at_rest());  // nobody drives the other end yet
    two.receive[1]->give_up();
    CHECK_NOTHROW(eventually(*two.fabric[0], "rest", [&] { return two.send[0]->at_rest(); }));
    munmap(memory, kAllSlots);

    // Other pipes of the two processes have not suffered, and nothing reads that memory.
    CHECK_NOTHROW(both(
        [&] {
          for (int i = 0; i < 10; ++i) expect(*two.fabric[0], *two.receive[0], 1, i, 1 << 20);
        },
        [&] {
          for (int i = 0; i < 10; ++i) send(*two.fabric[1], *two.send[1], 1, i, 1 << 20);
          flush(*two.fabric[1], *two.send[1]);
        }));
    const std::size_t before = mapped_bytes();
    two.send[0].reset();
    two.receive[1].reset();
    expect_unmapped(*two.fabric[0], *two.fabric[1], before);
  }
}

TEST_CASE("a receiver whose sender was given up before its welcome came lets its slots go") {
  auto a = open_fabric(settings("tcp")), b = open_fabric(settings("tcp"));
  REQUIRE(a->connect(b->address(), key(0, 1), kLong) == nullptr);
  const base::Deadline hello_comes(base::Seconds(0.3));
  while (!hello_comes.passed()) a->progress(), b->progress();
  a->remove_secret(kCommunicator);
  for (int i = 0; i < 100; ++i) a->progress();
  auto receive = accept(*b, a->address(), key(0, 1), kLong);
  const std::size_t before = mapped_bytes();
  receive.reset();
  expect_unmapped(*a, *b, before);
}
