// Messages between two transports that met by a handle, each driven by a thread of its own.
#include "message_pair.hpp"

using namespace fabric_test;

TEST_CASE("messages of all sizes arrive, whatever more the receiver has room for") {
  for (const char* provider : {"tcp", "tcp;ofi_rxm", "sockets"})
    for (const bool rma : {true, false}) {
      INFO(provider << (rma ? "" : " without RMA"));
      Pair pair(settings(provider, rma));
      stream(pair, kSizes, 0);
      stream(pair, kSizes, 1);
      stream(pair, kSizes, 100000);
    }
}

TEST_CASE("a sender that is ahead of its receiver loses nothing") {
  Pair pair(settings("tcp"));
  constexpr std::size_t kMessages = 300, kBytes = 20000;
  std::vector<std::byte> out(kBytes), in(32 * kBytes);
  const auto from = pair.from(out);
  const auto into = pair.into(in);
  std::array<std::size_t, 32> lengths{};
  std::size_t sent = 0, posted = 0, come = 0;
  std::optional<MessageSender::Sent> last;
  const auto size_of = [](std::size_t i) { return i % 16 < 10 ? 1 + i % 100 : kBytes - i; };
  test::eventually(
      "all messages",
      [&] {
        // As many at once as each end takes, so that the sender learns of receives late.
        while (sent < kMessages) {
          const auto one = pair.sender->send(out.data(), size_of(sent), 1, from.get());
          if (!one) break;
          last = one;
          ++sent;
        }
        while (posted < std::min(kMessages, come + 32)) {
          const MessageReceiver::Buffer buffer{in.data() + posted % 32 * kBytes, kBytes, 1,
                                               into.get(), &lengths[posted % 32]};
          if (!pair.receiver->receive(std::span(&buffer, 1))) break;
          ++posted;
        }
        while (come < posted && pair.receiver->has_come(come)) {
          REQUIRE(lengths[come % 32] == size_of(come));
          ++come;
        }
        return come == kMessages && pair.sender->has_left(*last);
      },
      [] {});
}

TEST_CASE("many messages in flight, short and long in turn, stay in order") {
  for (const int rails : {1, 3}) {
    Pair pair(settings("tcp"), rails);
    std::mt19937 random(5);
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 700; ++i) sizes.push_back(1 + random() % (random() % 2 == 0 ? 512 : 65536));
    stream(pair, sizes, 65536);
  }
}

TEST_CASE("messages of all sizes arrive over four rails") {
  Pair pair(settings("tcp"), 4);
  stream(pair, kSizes, 0);
  stream(pair, kSizes, 17);
}

TEST_CASE("messages arrive without copies") {
  Pair pair(settings("tcp"), 1, {.window = 32, .copies = false});
  stream(pair, kSizes, 0);
  stream(pair, kSizes, 9);
}

TEST_CASE("a message longer than its receive fails both ends and harms nothing") {
  for (const bool rma : {true, false})
    for (const std::size_t size : {std::size_t{100}, std::size_t{100000}}) {
      Pair pair(settings("tcp", rma));
      std::vector<std::byte> out(size, std::byte{1}), in(size, std::byte{2});
      const auto from = pair.from(out);
      const auto into = pair.into(in);
      std::size_t length = 0;
      const MessageReceiver::Buffer buffer{in.data(), size / 2, 1, into.get(), &length};
      const auto ticket = pair.receiver->receive(std::span(&buffer, 1));
      REQUIRE(ticket);
      std::string left, right;
      std::optional<MessageSender::Sent> sent;
      drive(
          [&] {
            try {
              if (!sent) sent = pair.sender->send(out.data(), size, 1, from.get());
              // What was sent ahead is over at once; the next message tells.
              if (sent && pair.sender->has_left(*sent)) sent.reset();
              return false;
            } catch (const base::Error& error) {
              left = error.what();
              return true;
            }
          },
          [&] {
            try {
              pair.receiver->has_come(*ticket);
              return false;
            } catch (const base::Error& error) {
              right = error.what();
              return true;
            }
          });
      INFO(left);
      INFO(right);
      CHECK(left.find("is longer than its receive 0") != std::string::npos);
      CHECK(right.find("is longer than its receive 0") != std::string::npos);
      for (const std::byte b : in) REQUIRE(b == std::byte{2});
    }
}

TEST_CASE("groups of receives take messages by tag, in any order of sending") {
  for (const std::size_t size : {std::size_t{16}, std::size_t{20000}}) {
    Pair pair(settings("tcp"), 1, {.window = 128});
    constexpr std::size_t kGroup = 4, kGroups = 50;
    std::vector<std::byte> out(kGroup * size), in(kGroup * size);
    const auto from = pair.from(out);
    const auto into = pair.into(in);
    std::mt19937 random(7);
    for (std::size_t group = 0; group < kGroups; ++group) {
      std::array<std::size_t, kGroup> order{0, 1, 2, 3};
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t i = 0; i < kGroup; ++i)
        std::memset(out.data() + i * size, static_cast<int>(group * kGroup + i), size);
      std::array<std::size_t, kGroup> lengths{};
      std::vector<MessageReceiver::Buffer> buffers;
      for (std::size_t i = 0; i < kGroup; ++i)
        buffers.push_back(
            {in.data() + i * size, size, static_cast<int>(i), into.get(), &lengths[i]});
      std::optional<std::uint64_t> ticket;
      std::size_t sent = 0;
      std::vector<MessageSender::Sent> sending;
      drive(
          [&] {
            if (sent < kGroup) {
              const std::size_t which = order[sent];
              if (const auto one = pair.sender->send(out.data() + which * size, size,
                                                     static_cast<int>(which), from.get())) {
                sending.push_back(*one);
                ++sent;
              }
              return false;
            }
            return std::ranges::all_of(sending,
                                       [&](const auto& one) { return pair.sender->has_left(one); });
          },
          [&] {
            if (!ticket && (group % 2 == 0 || sent > 0 || size > 8192))
              ticket = pair.receiver->receive(buffers);
            return ticket && pair.receiver->has_come(*ticket);
          });
      for (std::size_t i = 0; i < kGroup; ++i) {
        REQUIRE(lengths[i] == size);
        REQUIRE(in[i * size] == static_cast<std::byte>(group * kGroup + i));
        REQUIRE(in[i * size + size - 1] == static_cast<std::byte>(group * kGroup + i));
      }
    }
  }
}

TEST_CASE("a sender that goes is missed, after all that it sent") {
  Pair pair(settings("tcp"));
  std::vector<std::byte> out(100000, std::byte{3}), in(200000);
  const auto from = pair.from(out);
  const auto into = pair.into(in);
  std::array<std::size_t, 2> lengths{};
  std::array<std::uint64_t, 2> tickets{};
  for (std::size_t i = 0; i < 2; ++i) {
    const MessageReceiver::Buffer buffer{in.data() + i * 100000, 100000, 1, into.get(),
                                         &lengths[i]};
    tickets[i] = *pair.receiver->receive(std::span(&buffer, 1));
  }
  std::optional<MessageSender::Sent> sent;
  drive(
      [&] {
        if (!sent) sent = pair.sender->send(out.data(), 100000, 1, from.get());
        return sent && pair.sender->has_left(*sent);
      },
      [&] { return pair.receiver->has_come(tickets[0]); });
  CHECK(lengths[0] == 100000);
  pair.sender.reset();
  std::string why;
  test::eventually(
      "an error",
      [&] {
        try {
          pair.receiver->has_come(tickets[1]);
          return false;
        } catch (const base::Error& error) {
          why = error.what();
          return true;
        }
      },
      [] {});
  CHECK(why.find("the sender closed it") != std::string::npos);
}

TEST_CASE("handles that are none are refused") {
  const auto transport = open(settings("tcp"));
  auto handle = transport->listen().handle;
  CHECK(handle.size() <= transport::fabric::kHandleBytes);
  CHECK_THROWS_AS(transport->call(std::span(handle).first(10)), base::Error);
  for (std::size_t i = 0; i < handle.size(); ++i) {
    auto wrong = handle;
    wrong[i] ^= std::byte{1};
    INFO("byte " << i);
    CHECK_THROWS_AS(transport->call(wrong), base::Error);
  }
  const auto other = open(settings("sockets"));
  CHECK_THROWS_AS(other->call(handle), base::Error);
}

TEST_CASE("a handle whose listener is gone leads to an error that names the address") {
  auto with = settings("tcp");
  with.init_timeout = 2;
  const auto transport = open(with);
  std::vector<std::byte> handle;
  {
    const auto gone = open(with);
    handle = gone->listen().handle;
  }
  const auto call = transport->call(handle);
  std::string why;
  test::eventually(
      "an error",
      [&] {
        try {
          static_cast<void>(transport->connect(call));
          return false;
        } catch (const base::Error& error) {
          why = error.what();
          return true;
        }
      },
      [] {});
  INFO(why);
  CHECK(why.find("the listener at ") != std::string::npos);
}

TEST_CASE("a call that nobody asks about is dropped when others are made") {
  auto with = settings("tcp");
  with.init_timeout = 0.3;
  const auto left = open(with), right = open(with);
  const auto never_asked = left->call(right->listen().handle);
  const auto asked_once = left->call(right->listen().handle);
  CHECK(left->connect(asked_once) == nullptr);
  const auto answered = right->listen();
  const auto not_accepted = left->call(answered.handle);
  for (int i = 0; i < 100; ++i) {
    CHECK(left->connect(not_accepted) == nullptr);
    // One look: it answers the introduction, and has no hello yet.
    if (i == 0) CHECK(right->accept(answered.number) == nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  static_cast<void>(left->call(right->listen().handle));
  for (const auto call : {never_asked, asked_once, not_accepted}) {
    std::string why;
    try {
      static_cast<void>(left->connect(call));
    } catch (const base::Error& error) {
      why = error.what();
    }
    CHECK(why.find("is over, or never was") != std::string::npos);
  }
}

TEST_CASE("what has come when a receiver gives up stays out of its buffers") {
  Pair pair(settings("tcp"));
  std::vector<std::byte> out(64, std::byte{1}), in(2 * 64);
  const auto from = pair.from(out);
  auto into = pair.into(in);
  std::array<std::size_t, 2> lengths{};
  for (std::size_t i = 0; i < 2; ++i) {
    const MessageReceiver::Buffer buffer{in.data() + 64 * i, 64, 1, into.get(), &lengths[i]};
    REQUIRE(pair.receiver->receive(std::span(&buffer, 1)));
  }
  std::optional<MessageSender::Sent> sent;
  test::eventually(
      "a message that has left",
      [&] {
        if (!sent) sent = pair.sender->send(out.data(), 64, 1, from.get());
        return sent && pair.sender->has_left(*sent);
      },
      [] {});
  pair.receiver->give_up();
  test::eventually(
      "rest",
      [&] {
        try {
          pair.sender->has_left({true, 1000});
        } catch (const base::Error&) {  // it hears of the end
        }
        return pair.receiver->at_rest();
      },
      [] {});
  into.reset();
  std::fill(in.begin(), in.end(), std::byte{7});  // somebody else's now
  for (std::uint64_t ticket = 0; ticket < 2; ++ticket)
    CHECK_THROWS_AS(pair.receiver->has_come(ticket), base::Error);
  for (const std::byte b : in) REQUIRE(b == std::byte{7});
}
