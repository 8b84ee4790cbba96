// Whoever can reach an endpoint may send to it what it likes.
#include <random>

#include "message_pair.hpp"
#include "transport/fabric/core.hpp"

using namespace fabric_test;
using transport::fabric::Core;
using transport::fabric::Header;
using transport::fabric::Kind;
using transport::fabric::Peer;

namespace {

// Of the first rail, as a handle tells it.
std::vector<std::uint8_t> address_in(const std::vector<std::byte>& handle) {
  constexpr std::size_t kEndAt = 40;  // a hash of the network, the address's length, the address
  std::uint32_t bytes;
  std::memcpy(&bytes, handle.data() + kEndAt + 4, sizeof bytes);
  REQUIRE(bytes <= handle.size() - kEndAt - 8);
  const auto* const first = reinterpret_cast<const std::uint8_t*>(handle.data() + kEndAt + 8);
  return {first, first + bytes};
}

// A message of any kind, most of them as if they were ours.
void send_garbage(Core& core, Peer& to, std::mt19937_64& chance) {
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(chance() % end); };
  Header header{.kind = static_cast<Kind>(below(18)),
                .connection = below(4) == 0 ? static_cast<std::uint32_t>(chance()) : below(8),
                .token = static_cast<std::uint32_t>(chance()),
                .sequence = static_cast<std::uint32_t>(chance()),
                .bytes = 0,
                .count = static_cast<std::uint32_t>(chance())};
  if (below(10) == 0) header.magic = static_cast<std::uint16_t>(chance());
  if (below(10) == 0) header.version = static_cast<std::uint8_t>(chance());
  constexpr std::size_t kLengths[] = {0, 1, 8, 64, 72, 120, 300, 1024, 3000};
  std::vector<std::byte> payload(kLengths[below(9)] + below(2) * below(40));
  for (std::byte& one : payload) one = static_cast<std::byte>(chance());
  core.send_control(to, header, payload);
}

}  // namespace

TEST_CASE("what strangers send disturbs nobody") {
  for (const int rails : {1, 4}) {
    INFO(rails << " rails");
    const auto with = settings("tcp");
    Pair pair(with, rails);
    const auto listener = pair.right->listen();
    Core stranger(with, transport::fabric::choose_provider(with, kLoopback));
    std::mt19937_64 chance(7);
    const auto spam = [&] {
      const std::lock_guard lock(stranger.mutex);
      Peer* const way = stranger.open_way(1, 0, address_in(listener.handle));
      REQUIRE(way != nullptr);
      for (int i = 0; i < 200; ++i) {
        send_garbage(stranger, *way, chance);
        stranger.progress();
      }
      stranger.close_way(*way);
    };
    for (int round = 0; round < 5; ++round) {
      spam();
      stream(pair, kSizes, 0);
      CHECK(pair.right->accept(listener.number) == nullptr);
    }
    CHECK_FALSE(pair.sender->has_failed());
    CHECK_FALSE(pair.receiver->has_failed());
  }
}
