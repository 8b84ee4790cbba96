// How pipes begin and end: secrets, refusals, goodbyes, and what strangers can do.
#include "support.hpp"
#include "support/descriptors.hpp"

using namespace fabric_test;

namespace {

constexpr PipeOptions kOptions{8, 16384};

// Polls both ends for a while; whether a pipe came.
bool joins(FabricTransport& a, FabricTransport& b, base::Seconds patience) {
  const base::Deadline deadline(patience);
  std::unique_ptr<SendPipe> send;
  std::unique_ptr<ReceivePipe> receive;
  while (!deadline.passed() && !(send && receive)) {
    if (!send) send = a.connect(b.address(), key(0, 1), kOptions);
    if (!receive) receive = b.accept(a.address(), key(0, 1), kOptions);
  }
  const bool joined = send && receive;
  // Both say goodbye before either waits.
  send.reset();
  receive.reset();
  for (int i = 0; i < 1000; ++i) {
    a.progress();
    b.progress();
  }
  return joined;
}

// The error of a verb that must fail in the end.
template <typename Verb>
std::string failure_of(FabricTransport& mine, FabricTransport& other, Verb verb) {
  const base::Deadline deadline(kPatience);
  while (!deadline.passed()) {
    try {
      verb();
    } catch (const base::Error& error) {
      CHECK(error.code() == heddleRemoteError);
      return error.what();
    }
    mine.progress();
    other.progress();
  }
  return "nothing failed";
}

}  // namespace

TEST_CASE("a peer without the secret gets no pipe, and a later one with it does") {
  auto a = open_fabric(settings("tcp"));
  FabricTransport b(settings("tcp"), kLoopback);
  b.add_secret(kCommunicator, {66});
  CHECK_FALSE(joins(*a, b, base::Seconds(0.5)));
  b.remove_secret(kCommunicator);
  b.add_secret(kCommunicator, kSecret);
  a->remove_secret(kCommunicator);  // gives up the hello that was refused
  a->add_secret(kCommunicator, kSecret);
  CHECK(joins(*a, b, kPatience));
}

TEST_CASE("pipes are refused before the secret is known, and after it is taken away") {
  auto a = open_fabric(settings("tcp"));
  a->add_secret(kCommunicator, kSecret);  // a second rank of this process
  a->remove_secret(kCommunicator);
  CHECK_NOTHROW(a->accept(a->address(), key(0, 1), kOptions));
  a->remove_secret(kCommunicator);
  CHECK_THROWS_AS(a->accept(a->address(), key(0, 1), kOptions), base::Error);
  CHECK_THROWS_AS(a->connect(a->address(), key(0, 1), kOptions), base::Error);
  a->add_secret(kCommunicator, kSecret);
  CHECK_THROWS_AS(a->add_secret(kCommunicator, {1}), base::Error);
}

TEST_CASE("a hello that comes before accept is kept") {
  auto a = open_fabric(settings("tcp")), b = open_fabric(settings("tcp"));
  const base::Deadline deadline(base::Seconds(0.3));
  while (!deadline.passed()) {
    CHECK(a->connect(b->address(), key(0, 1), kOptions) == nullptr);
    b->progress();
  }
  CHECK(joins(*a, *b, kPatience));
}

TEST_CASE("processes on different providers refuse each other by name") {
  auto a = open_fabric(settings("tcp")), b = open_fabric(settings("tcp;ofi_rxm"));
  for (const auto& attempt :
       {std::function<void()>([&] { a->connect(b->address(), key(0, 1), kOptions); }),
        std::function<void()>([&] { a->accept(b->address(), key(1, 0), kOptions); })}) {
    try {
      attempt();
      FAIL("no error");
    } catch (const base::Error& error) {
      CHECK(error.code() == heddleInvalidUsage);
      CHECK_THAT(error.what(), Catch::Matchers::Contains("tcp;ofi_rxm (FI_PROTO_RXM"));
      CHECK_THAT(error.what(), Catch::Matchers::Contains("(FI_PROTO_XNET"));
    }
  }
  auto c = open_fabric(settings("tcp", false));
  CHECK_THROWS_WITH(a->connect(c->address(), key(0, 1), kOptions),
                    Catch::Matchers::Contains("HEDDLE_RMA"));
}

TEST_CASE("ends that disagree on the slots both get an error") {
  auto a = open_fabric(settings("tcp")), b = open_fabric(settings("tcp"));
  std::string receiver, sender;
  const base::Deadline deadline(kPatience);
  while ((receiver.empty() || sender.empty()) && !deadline.passed()) {
    try {
      if (sender.empty()) a->connect(b->address(), key(0, 1), {8, 16384});
    } catch (const base::Error& error) {
      sender = error.what();
    }
    try {
      if (receiver.empty()) b->accept(a->address(), key(0, 1), {8, 4096});
      b->progress();
    } catch (const base::Error& error) {
      receiver = error.what();
    }
  }
  const std::string both = "the sender has 8 slots of 16384 bytes, the receiver 8 of 4096";
  CHECK_THAT(receiver, Catch::Matchers::Contains(both));
  CHECK_THAT(sender, Catch::Matchers::Contains(both));
}

TEST_CASE("an end whose other end is closed gets an error after what was sent") {
  for (const Way& way : ways()) {
    INFO(way.provider << (way.rma ? " rma" : " messages"));
    Two two(settings(way.provider, way.rma), kOptions);
    send(*two.fabric[0], *two.send[0], 0, 0, 100);
    send(*two.fabric[0], *two.send[0], 0, 1, 10000);
    two.send[0].reset();
    two.receive[0].reset();
    both(
        [&] {
          const base::Deadline deadline(base::Seconds(way.provider == "sockets" ? 1 : 0.1));
          while (!deadline.passed()) two.fabric[0]->progress();
        },
        [&] {
          expect(*two.fabric[1], *two.receive[1], 0, 0, 100);
          expect(*two.fabric[1], *two.receive[1], 0, 1, 10000);
        });
    CHECK_THAT(failure_of(*two.fabric[1], *two.fabric[0], [&] { two.receive[1]->peek(1); }),
               Catch::Matchers::Contains("the sender closed it after 2 messages"));
    CHECK_THAT(failure_of(*two.fabric[1], *two.fabric[0], [&] { two.send[1]->acquire(1); }),
               Catch::Matchers::Contains("the receiver closed it"));
  }
}

TEST_CASE("what was sent before a transport went arrives") {
  for (const Way& way : ways()) {
    INFO(way.provider << (way.rma ? " rma" : " messages"));
    Two two(settings(way.provider, way.rma), kOptions);
    CHECK_NOTHROW(both(
        [&] {
          for (int i = 0; i < 5; ++i) send(*two.fabric[0], *two.send[0], 0, i, 10000);
          two.send[0].reset();
          two.receive[0].reset();
          two.fabric[0].reset();
        },
        [&] {
          for (int i = 0; i < 5; ++i) expect(*two.fabric[1], *two.receive[1], 0, i, 10000);
        }));
  }
}

TEST_CASE("a transport whose peer never answers goes within its deadline") {
  for (const Way& way : ways()) {
    INFO(way.provider << (way.rma ? " rma" : " messages"));
    auto silent = open_fabric(settings(way.provider, way.rma));
    auto a = open_fabric(settings(way.provider, way.rma));
    a->connect(silent->address(), key(0, 1), kOptions);
    for (int i = 0; i < 100; ++i) a->progress();
    const auto start = base::Clock::now();
    a.reset();
    CHECK(base::seconds_since(start) < 10);
  }
}

TEST_CASE("no-leaks") {
  const auto cycle = [] {
    Two two(settings("tcp"), {4, 4096});
    send(*two.fabric[0], *two.send[0], 0, 0, 10);
  };
  for (int i = 0; i < 3; ++i) cycle();
  const int before = heddle::test::open_descriptors();
  for (int i = 0; i < 100; ++i) cycle();
  CHECK(heddle::test::open_descriptors() <= before);
}

TEST_CASE("pipes come and go on one pair of transports") {
  for (const bool rma : {true, false}) {
    auto a = open_fabric(settings("tcp", rma)), b = open_fabric(settings("tcp", rma));
    for (int i = 0; i < 200; ++i) REQUIRE(joins(*a, *b, kPatience));
  }
}
