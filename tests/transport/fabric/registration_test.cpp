// A registered buffer is registered once a rail, however often it is sent from. Over the emulated
// EFA, which refuses memory that was not registered (FI_MR_LOCAL).
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "support.hpp"
#include "transport/fabric/rail.hpp"

using namespace fabric_test;

namespace {

constexpr int kRails = 2;

std::size_t registrations(const FabricTransport& fabric) {
  std::size_t sum = 0;
  for (const auto& rail : fabric.rail_metrics()) sum += rail.registrations;
  return sum;
}

// Sends `messages` of 1 MiB from `memory`, over and over.
void stream(Two& two, std::byte* memory, std::size_t bytes, int messages) {
  constexpr std::size_t kBytes = 1 << 20;
  const auto at = [&](int i) { return memory + static_cast<std::size_t>(i) * kBytes % bytes; };
  both(
      [&] {
        std::uint64_t last = 0;
        for (int i = 0; i < messages; ++i)
          last = *eventually(*two.fabric[0], "send_from",
                             [&] { return two.send[0]->send_from(at(i), kBytes); });
        eventually(*two.fabric[0], "sent", [&] { return two.send[0]->sent(last); });
      },
      [&] {
        for (int i = 0; i < messages; ++i) {
          const std::byte* slot =
              eventually(*two.fabric[1], "peek", [&] { return two.receive[1]->peek(kBytes); });
          if (std::memcmp(slot, at(i), kBytes) != 0)
            base::fail(heddleInternalError, "test: message {} is wrong", i);
          two.receive[1]->release();
        }
      });
}

}  // namespace

TEST_CASE("a buffer of 1 GiB is registered once a rail, other memory for each message") {
  setenv("HEDDLE_EMULATED_EFA", std::to_string(kRails).c_str(), 1);
  const auto open = [] {
    auto fabric = open_fabric(settings("efa"));
    return fabric;
  };
  Two two(open(), open(), {8, 1 << 20});
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const base::MappedMemory memory = transport::fabric::map_memory(kBytes);
  for (std::size_t i = 0; i < 64 << 20; i += 4096) memory.data()[i] = pattern(0, i, i);

  const std::size_t before = registrations(*two.fabric[0]);
  auto registered = two.fabric[0]->register_buffer(memory.data(), kBytes);
  REQUIRE(registered != nullptr);
  CHECK(registrations(*two.fabric[0]) == before + kRails);
  CHECK_NOTHROW(stream(two, memory.data(), 64 << 20, 200));
  CHECK(registrations(*two.fabric[0]) == before + kRails);

  registered.reset();
  CHECK_NOTHROW(stream(two, memory.data(), 64 << 20, 10));
  CHECK(registrations(*two.fabric[0]) == before + kRails + 10 * kRails);
}

TEST_CASE("a refusal of memory tells the limit and how to raise it") {
  setenv("HEDDLE_EMULATED_EFA", std::to_string(kRails).c_str(), 1);
  const std::string script = "/tmp/heddle-memlock-" + std::to_string(getpid());
  std::ofstream(script) << "memlock 33554432\n";
  setenv("HEDDLE_EMULATED_EFA_SCRIPT", script.c_str(), 1);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_MEMLOCK, &before) == 0);
  const rlimit low{rlim_t{1} << 20, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_MEMLOCK, &low) == 0);
  const auto fabric = open_fabric(settings("efa"));
  const base::MappedMemory memory = transport::fabric::map_memory(std::size_t{64} << 20);
  CHECK_THROWS_WITH(fabric->register_buffer(memory.data(), memory.size()),
                    Catch::Matchers::Contains("may lock 1024 KiB (ulimit -l); raise that with"));
  CHECK(setrlimit(RLIMIT_MEMLOCK, &before) == 0);
  unsetenv("HEDDLE_EMULATED_EFA_SCRIPT");
  std::remove(script.c_str());
}
