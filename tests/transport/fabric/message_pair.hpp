// Two transports for messages in one process that met by a handle, and messages between them.
#pragma once

#include "transport/fabric/messages.hpp"

#include <cstring>
#include <deque>
#include <random>
#include <thread>

#include "support.hpp"
#include "transport/fabric/message_transport.hpp"

namespace fabric_test {

using transport::fabric::Access;
using transport::fabric::MessageMemory;
using transport::fabric::MessageOptions;
using transport::fabric::MessageReceiver;
using transport::fabric::MessageSender;
using transport::fabric::MessageTransport;

inline std::unique_ptr<MessageTransport> open(const base::Settings& with, int rails = 1,
                                              const MessageOptions& options = {.window = 32}) {
  auto provider = transport::fabric::choose_provider(with, kLoopback);
  for (int i = 1; i < rails; ++i) {
    const auto& first = provider.adapters[0];
    provider.adapters.push_back(
        {first.adapter, transport::fabric::Info(fi_dupinfo(first.info.get())), first.send_bytes});
    provider.adapters.back().adapter.name = "lo" + std::to_string(i);
  }
  return std::make_unique<MessageTransport>(with, provider, options);
}

struct Pair {
  std::unique_ptr<MessageTransport> left, right;
  std::unique_ptr<MessageSender> sender;
  std::unique_ptr<MessageReceiver> receiver;

  explicit Pair(const base::Settings& with, int rails = 1,
                const MessageOptions& options = {.window = 32})
      : left(open(with, rails, options)), right(open(with, rails, options)) {
    const auto listener = right->listen();
    const auto call = left->call(listener.handle);
    test::eventually(
        "connection",
        [&] {
          if (!sender) sender = left->connect(call);
          if (!receiver) receiver = right->accept(listener.number);
          return sender && receiver;
        },
        [] {});
    right->unlisten(listener.number);
  }
  std::unique_ptr<MessageMemory> from(std::vector<std::byte>& bytes) {
    return left->register_memory(bytes.data(), bytes.size(), Access::send, {});
  }
  std::unique_ptr<MessageMemory> into(std::vector<std::byte>& bytes) {
    return right->register_memory(bytes.data(), bytes.size(),
                                  right->rma() ? Access::remote_write : Access::receive, {});
  }
};

// Both ends in one thread, as NCCL may drive a loopback pair.
template <typename Left, typename Right>
void drive(Left left, Right right) {
  bool left_over = false, right_over = false;
  test::eventually(
      "both ends",
      [&] {
        left_over = left_over || left();
        right_over = right_over || right();
        return left_over && right_over;
      },
      [] {});
}

// As many messages as sizes, each into a receive with so much more room, looked at.
inline void stream(Pair& pair, std::span<const std::size_t> sizes, std::size_t room_more) {
  std::size_t longest = 0;
  for (const std::size_t size : sizes) longest = std::max(longest, size);
  constexpr std::size_t kFlying = 32;
  std::vector<std::byte> out(kFlying * (longest + 1)), in(kFlying * (longest + room_more + 1));
  const auto from = pair.from(out);
  const auto into = pair.into(in);
  std::size_t sent = 0, left = 0, posted = 0, come = 0;
  std::deque<MessageSender::Sent> sending;
  std::array<std::size_t, kFlying> lengths{};
  std::deque<std::uint64_t> tickets;
  // What has come is overwritten, and nobody else may write there until the next receive.
  constexpr int kOwn = 0x5a;
  std::memset(in.data(), kOwn, in.size());
  const auto slot = [&](std::size_t n) {
    return in.data() + n % kFlying * (longest + room_more + 1);
  };
  const auto is_own = [&](std::size_t n) {
    return std::all_of(slot(n), slot(n) + longest + room_more + 1,
                       [](std::byte b) { return b == std::byte{kOwn}; });
  };
  drive(
      [&] {
        while (!sending.empty() && pair.sender->has_left(sending.front())) {
          sending.pop_front();
          ++left;
        }
        if (sent < sizes.size() && sent < left + kFlying) {
          std::byte* const at = out.data() + sent % kFlying * (longest + 1);
          for (std::size_t i = 0; i < sizes[sent]; ++i) at[i] = pattern(1, sent, i);
          if (const auto one = pair.sender->send(at, sizes[sent], 7, from.get())) {
            sending.push_back(*one);
            ++sent;
          }
        }
        return left == sizes.size();
      },
      [&] {
        while (!tickets.empty() && pair.receiver->has_come(tickets.front())) {
          tickets.pop_front();
          const std::byte* const at = slot(come);
          REQUIRE(lengths[come % kFlying] == sizes[come]);
          bool right = true;
          for (std::size_t i = 0; i < sizes[come]; ++i)
            right = right && at[i] == pattern(1, come, i);
          REQUIRE(right);
          std::memset(slot(come), kOwn, longest + room_more + 1);
          ++come;
        }
        if (posted < sizes.size() && posted < come + kFlying) {
          REQUIRE(is_own(posted));
          const MessageReceiver::Buffer buffer{slot(posted), sizes[posted] + room_more, 7,
                                               into.get(), &lengths[posted % kFlying]};
          if (const auto ticket = pair.receiver->receive(std::span(&buffer, 1))) {
            tickets.push_back(*ticket);
            ++posted;
          }
        }
        return come == sizes.size();
      });
  for (std::size_t n = 0; n < kFlying; ++n) REQUIRE(is_own(n));
}

inline const std::vector<std::size_t> kSizes = {
    0,      1,       2, 7, 8, 4096,    8183,   8184,   8185,    8192, 0,    65536,
    100001, 1 << 20, 3, 0, 5, 1000000, 131072, 262145, 8 << 20, 1,    12345};

}  // namespace fabric_test
