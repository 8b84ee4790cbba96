// The root, spoken to by ranks that are nothing but a socket: what a real rank never says, and more
// of them than a test could start.
#include "communicator/root.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"

namespace heddle::communicator {
namespace {

using Catch::Matchers::Contains;

const Secret kSecret = secret_from_text("a test");

class BareRank {
 public:
  explicit BareRank(const Root& root)
      : stream_(connect_tcp({fmt::format("127.0.0.1:{}", root.port())},
                            base::Deadline(base::Seconds(10))),
                1 << 20) {}

  MessageStream& stream() { return stream_; }
  void hello() { stream_.send(Hello{.nonce = nonce_}); }
  void join(const Message& message, int rank, int ranks, const std::string& text) {
    const auto challenge = decode<Challenge>(message.payload);
    stream_.send(Join{.proof = proof(kSecret, "rank", nonce_ + challenge.nonce),
                      .rank = rank,
                      .ranks = ranks,
                      .host = "a-host",
                      .pid = 7,
                      .timeout_ms = 60'000,
                      .text = text});
  }

 private:
  const std::string nonce_{as_text(random_secret())};
  MessageStream stream_;
};

// What the root says next to `rank`; the root serves meanwhile.
std::optional<Message> answer(Root& root, BareRank& rank) {
  const base::Deadline deadline(base::Seconds(10));
  while (!deadline.passed()) {
    const bool alive = rank.stream().fill();
    if (auto message = rank.stream().next()) return message;
    if (!alive) return std::nullopt;
    root.serve();
  }
  return std::nullopt;
}

void admit(Root& root, BareRank& one, int rank, int ranks, const std::string& text) {
  one.hello();
  const auto challenge = answer(root, one);
  REQUIRE(challenge);
  REQUIRE(challenge->kind == Kind::challenge);
  one.join(*challenge, rank, ranks, text);
  root.serve();
}

// Sets the soft limit of open files while it lives; false when the system allows no such limit.
class OpenFiles {
 public:
  explicit OpenFiles(rlim_t limit) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit wanted = before_;
    wanted.rlim_cur = limit;
    set_ = limit <= before_.rlim_max && setrlimit(RLIMIT_NOFILE, &wanted) == 0;
  }
  OpenFiles(const OpenFiles&) = delete;
  ~OpenFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  explicit operator bool() const { return set_; }

 private:
  rlimit before_{};
  bool set_ = false;
};

}  // namespace

TEST_CASE("a rank that joins with another nranks is no member, whatever it says next") {
  constexpr int kOther = kMostRanks;
  Root root(kSecret, 0, "here");
  BareRank first(root);
  BareRank odd(root);
  admit(root, first, 0, 2, "first");
  admit(root, odd, kOther - 1, kOther, "odd");
  for (BareRank* rank : {&first, &odd}) {
    const auto told = answer(root, *rank);
    REQUIRE(told);
    CHECK(told->kind == Kind::failure);
    CHECK_THAT(told->payload, Contains("nranks 2") && Contains("nranks 1048576"));
  }
  odd.stream().send(Exchange{"its second text"});
  first.stream().send(Exchange{"its second text"});
  for (int i = 0; i < 10; ++i) root.serve();
  // It still answers: the next rank hears why it comes too late.
  BareRank late(root);
  admit(root, late, 1, 2, "late");
  const auto told = answer(root, late);
  REQUIRE(told);
  CHECK_THAT(told->payload, Contains("too late") && Contains("nranks 1048576"));
}

TEST_CASE("a rank with another nranks is refused also when those before it have left") {
  Root root(kSecret, 0, "here");
  {
    BareRank first(root);
    admit(root, first, 0, 2, "first");
    first.stream().send(Leave{});
    for (int i = 0; i < 10; ++i) root.serve();
  }
  BareRank odd(root);
  admit(root, odd, kMostRanks - 1, kMostRanks, "odd");
  const auto told = answer(root, odd);
  REQUIRE(told);
  CHECK_THAT(told->payload, Contains("nranks 2") && Contains("nranks 1048576"));
}

TEST_CASE("more ranks than may be unproved at once, all in the middle of joining, are all kept") {
  constexpr std::size_t kRanks = 4300;
  const OpenFiles limit(2 * kRanks + 200);
  if (!limit) {
    WARN("SKIPPED: the limit of open files (ulimit -Hn) is below " << 2 * kRanks + 200);
    return;
  }
  Root root(kSecret, 0, "here");
  std::vector<std::unique_ptr<BareRank>> ranks;
  for (std::size_t i = 0; i < kRanks; ++i) {
    ranks.push_back(std::make_unique<BareRank>(root));
    if (i % 2 == 0) ranks.back()->hello();  // the others have just connected
    if (i % 1000 == 999) root.serve();      // what waits must fit the backlog
  }
  root.serve();
  for (std::size_t i = 1; i < kRanks; i += 2) ranks[i]->hello();
  std::size_t challenged = 0;
  for (auto& rank : ranks) {
    const auto challenge = answer(root, *rank);
    if (challenge && challenge->kind == Kind::challenge) ++challenged;
  }
  CHECK(challenged == kRanks);
}

TEST_CASE("a root without a free descriptor drops nobody while nobody waits") {
  Root root(kSecret, 0, "here");
  BareRank rank(root);
  rank.hello();
  const auto challenge = answer(root, rank);
  REQUIRE(challenge);
  const int next_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(next_free >= 0);
  close(next_free);
  {
    const OpenFiles limit(static_cast<rlim_t>(next_free));
    REQUIRE(limit);
    REQUIRE(open("/dev/null", O_RDONLY | O_CLOEXEC) < 0);
    for (int i = 0; i < 3; ++i) root.serve();
  }
  rank.join(*challenge, 0, 1, "text");
  const auto table = answer(root, rank);
  REQUIRE(table);
  CHECK(table->kind == Kind::table);
}

TEST_CASE("a root that was abandoned ends, but not under a rank that has joined") {
  Root unused(kSecret, 0, "here");
  unused.serve();
  CHECK(!unused.finished());
  unused.abandon();
  unused.serve();
  CHECK(unused.finished());

  Root used(kSecret, 0, "here");
  BareRank rank(used);
  admit(used, rank, 0, 2, "text");
  used.abandon();
  used.serve();
  CHECK(!used.finished());
}

}  // namespace heddle::communicator
