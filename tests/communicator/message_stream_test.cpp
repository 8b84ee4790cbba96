// Messages of the control plane over a socket.
#include "communicator/message_stream.hpp"

#include <sys/socket.h>

#include <utility>

#include "catch.hpp"

namespace heddle::communicator {
namespace {

constexpr std::size_t kLargest = 8 << 20;

std::pair<MessageStream, MessageStream> pair_of_streams() {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  return {MessageStream(base::UniqueFd(ends[0]), kLargest),
          MessageStream(base::UniqueFd(ends[1]), kLargest)};
}

}  // namespace

TEST_CASE("a message for many is queued without a copy for each, and arrives whole") {
  std::string text(5 << 20, 'x');  // more than a socket takes
  for (std::size_t i = 0; i < text.size(); i += 1000) text[i] = static_cast<char>('a' + i % 26);
  constexpr long kStreams = 20;
  std::vector<std::pair<MessageStream, MessageStream>> streams;
  auto message = whole_message(Kind::table, text);
  const std::weak_ptr<const std::string> queued = message;
  for (long i = 0; i < kStreams; ++i) {
    streams.push_back(pair_of_streams());
    auto& [root, rank] = streams.back();
    CHECK(root.send(Alive{}));
    CHECK(root.send(message));
    CHECK(root.send(Agreed{42}));
    CHECK(root.wants_to_write());
  }
  CHECK(queued.use_count() == kStreams + 1);
  message.reset();
  for (auto& [root, rank] : streams) {
    std::vector<Message> got;
    for (int i = 0; i < 100'000 && got.size() < 3; ++i) {
      REQUIRE(root.flush());
      REQUIRE(rank.fill());
      while (auto next = rank.next()) got.push_back(*std::move(next));
    }
    REQUIRE(got.size() == 3);
    CHECK(got[0].kind == Kind::heartbeat);
    CHECK(got[1].kind == Kind::table);
    CHECK((got[1].payload == text));
    CHECK(decode<Agreed>(got[2].payload).operation == 42);
    CHECK(!root.wants_to_write());
  }
  CHECK(queued.expired());
}

}  // namespace heddle::communicator
