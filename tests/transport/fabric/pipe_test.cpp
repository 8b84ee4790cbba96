// Fabric pipes between two transports of one process, each driven by a thread of its own, over
// every provider that is promised and over both paths: RDMA write and messages.
#include <atomic>

#include "support.hpp"

using namespace fabric_test;

namespace {

constexpr std::size_t kEager = 8192;
constexpr PipeOptions kOptions{8, 65536};

}  // namespace

TEST_CASE("messages of every size arrive whole and in order, both ways at once") {
  for (const Way& way : ways()) {
    INFO(way.provider << (way.rma ? " rma" : " messages"));
    Two two(settings(way.provider, way.rma), kOptions);
    const std::vector<std::size_t> sizes = {
        1,          2,      3,          40,   41,    64,    104,   105, 128,   1000,
        kEager - 1, kEager, kEager + 1, 9000, 32768, 65535, 65536, 7,   65536, 1};
    const auto run = [&](int me) {
      std::size_t sent = 0, received = 0;
      // The window bounds how far a sender may lead, so take turns in bursts of 3.
      while (received < sizes.size()) {
        for (int i = 0; i < 3 && sent < sizes.size(); ++i, ++sent)
          send(*two.fabric[me], *two.send[me], me, sent, sizes[sent]);
        for (int i = 0; i < 3 && received < sent; ++i, ++received)
          expect(*two.fabric[me], *two.receive[me], 1 - me, received, sizes[received]);
      }
      flush(*two.fabric[me], *two.send[me]);
    };
    CHECK_NOTHROW(both([&] { run(0); }, [&] { run(1); }));
  }
}

TEST_CASE("thousands of messages stream through a few slots") {
  for (const Way& way : ways()) {
    INFO(way.provider << (way.rma ? " rma" : " messages"));
    for (const int slots : {4, 5, 64}) {
      Two two(settings(way.provider, way.rma), {slots, 16384});
      const auto bytes = [](int i) {
        return std::size_t(i % 7 == 0 ? 12000 + i % 100 : 1 + i % 300);
      };
      CHECK_NOTHROW(both(
          [&] {
            for (int i = 0; i < way.repeat; ++i) send(*two.fabric[0], *two.send[0], 0, i, bytes(i));
            flush(*two.fabric[0], *two.send[0]);
          },
          [&] {
            for (int i = 0; i < way.repeat; ++i)
              expect(*two.fabric[1], *two.receive[1], 0, i, bytes(i));
          }));
    }
  }
}

TEST_CASE("a sender may lead by half the slots and one while nothing is released") {
  for (const Way& way : ways()) {
    INFO(way.provider << (way.rma ? " rma" : " messages"));
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{20000}}) {
      Two two(settings(way.provider, way.rma), kOptions);
      // However the credits lie, after any number of messages.
      for (std::size_t number = 0, round = 0; round < 4; ++round) {
        const std::size_t lead = kOptions.slots / 2 + 1;
        // The receiver drives its transport but releases nothing, then releases all.
        const auto sender = [&] {
          for (std::size_t i = 0; i < lead; ++i)
            send(*two.fabric[0], *two.send[0], 0, number + i, bytes);
        };
        std::atomic<bool> sent = false;
        const base::Deadline patience(kPatience);
        CHECK_NOTHROW(both(
            [&] {
              sender();
              sent = true;
            },
            [&] {
              while (!sent && !patience.passed()) two.fabric[1]->progress();
            }));
        CHECK_NOTHROW(both(
            [&] {
              while (sent && !patience.passed()) two.fabric[0]->progress();
            },
            [&] {
              for (std::size_t i = 0; i < lead; ++i)
                expect(*two.fabric[1], *two.receive[1], 0, number + i, bytes);
              sent = false;
            }));
        number += lead;
      }
    }
  }
}

TEST_CASE("large messages leave from the caller's memory") {
  for (const Way& way : ways()) {
    INFO(way.provider << (way.rma ? " rma" : " messages"));
    Two two(settings(way.provider, way.rma), kOptions);
    const int messages = std::min(way.repeat, 100);
    std::vector<std::byte> memory(messages * 30000u);
    for (int n = 0; n < messages; ++n)
      for (std::size_t i = 0; i < 30000; ++i) memory[n * 30000u + i] = pattern(0, n, i);
    CHECK(two.send[0]->sends_in_place(30000));
    if (way.rma) {
      CHECK_FALSE(two.send[0]->sends_in_place(100));
      CHECK_FALSE(two.send[0]->send_from(memory.data(), 100));
    }
    const auto sender = [&] {
      std::vector<std::uint64_t> tickets;
      for (int n = 0; n < messages; ++n)
        tickets.push_back(*eventually(*two.fabric[0], "send_from", [&] {
          return two.send[0]->send_from(memory.data() + n * 30000u, 30000);
        }));
      for (const std::uint64_t ticket : tickets)
        eventually(*two.fabric[0], "sent", [&] { return two.send[0]->sent(ticket); });
      std::ranges::fill(memory, std::byte{0});  // it is ours again
    };
    CHECK_NOTHROW(both(sender, [&] {
      for (int n = 0; n < messages; ++n) expect(*two.fabric[1], *two.receive[1], 0, n, 30000);
    }));
  }
}

TEST_CASE("what has been flushed arrives though its sender's transport rests") {
  for (const Way& way : ways()) {
    INFO(way.provider << (way.rma ? " rma" : " messages"));
    Two two(settings(way.provider, way.rma), {8, 1 << 20});
    const std::size_t sizes[] = {1 << 20, 10, 1 << 20, 5000};
    CHECK_NOTHROW(both(
        [&] {
          for (std::size_t i = 0; i < 4; ++i) send(*two.fabric[0], *two.send[0], 0, i, sizes[i]);
          flush(*two.fabric[0], *two.send[0]);
        },
        [&] {  // drives its own end while the other flushes, and alone after that
          for (std::size_t i = 0; i < 4; ++i)
            expect(*two.fabric[1], *two.receive[1], 0, i, sizes[i]);
        }));
  }
}

TEST_CASE("acquire gives the same slot until commit, and nothing once the window is full") {
  Two two(settings("tcp"), kOptions);
  std::byte* slot = eventually(*two.fabric[0], "acquire", [&] { return two.send[0]->acquire(10); });
  CHECK(two.send[0]->acquire(10) == slot);
  for (int i = 0; i < kOptions.slots; ++i) send(*two.fabric[0], *two.send[0], 0, i, 10);
  for (int i = 0; i < 100; ++i) {
    CHECK(two.send[0]->acquire(10) == nullptr);
    two.fabric[0]->progress();
    two.fabric[1]->progress();
  }
  CHECK_THROWS_AS(two.send[0]->acquire(0), base::Error);
  CHECK_THROWS_AS(two.send[0]->acquire(kOptions.slot_bytes + 1), base::Error);
}

TEST_CASE("ends that disagree on a message's length get an error that names both lengths") {
  for (const bool rma : {true, false}) {
    const std::size_t sent = GENERATE(100, 50'000);
    Two two(settings("tcp", rma), kOptions);
    CHECK(two.send[0]->told_length() == SendPipe::kEveryLength);
    CHECK(two.receive[1]->told_length() == SendPipe::kEveryLength);
    send(*two.fabric[0], *two.send[0], 0, 0, sent);
    std::string text;
    const base::Deadline deadline(kPatience);
    while (text.empty() && !deadline.passed()) {
      two.fabric[0]->progress();
      two.fabric[1]->progress();
      try {
        two.receive[1]->peek(sent + 4);
      } catch (const base::Error& error) {
        CHECK(error.code() == heddleRemoteError);
        text = error.what();
      }
    }
    CHECK_THAT(text, Catch::Matchers::Contains(fmt::format("{} bytes at the sender", sent)));
    CHECK_THAT(text, Catch::Matchers::Contains(fmt::format("{} here", sent + 4)));
    CHECK_THAT(text, Catch::Matchers::Contains("from rank 0 to rank 1"));
  }
}

TEST_CASE("several connections of one pair of processes do not disturb each other") {
  constexpr int kChannels = 6;
  for (const bool rma : {true, false}) {
    std::unique_ptr<FabricTransport> fabric[2] = {open_fabric(settings("tcp", rma)),
                                                  open_fabric(settings("tcp", rma))};
    std::vector<std::unique_ptr<SendPipe>> sends(kChannels);
    std::vector<std::unique_ptr<ReceivePipe>> receives(kChannels);
    const std::string address[2] = {fabric[0]->address(), fabric[1]->address()};
    const auto all = [](const auto& pipes) {
      return std::ranges::all_of(pipes, [](const auto& pipe) { return pipe != nullptr; });
    };
    const auto bytes = [](int i) { return std::size_t(i % 3 == 0 ? 20000 : 50); };
    const auto sender = [&] {
      eventually(*fabric[0], "connect", [&] {
        for (int c = 0; c < kChannels; ++c)
          if (!sends[c]) sends[c] = fabric[0]->connect(address[1], key(0, 1, c), kOptions);
        return all(sends);
      });
      for (int i = 0; i < 300; ++i)
        for (int c = 0; c < kChannels; ++c) send(*fabric[0], *sends[c], c, i, bytes(i));
      for (auto& pipe : sends) flush(*fabric[0], *pipe);
    };
    const auto receiver = [&] {
      for (int c = kChannels - 1; c >= 0; --c)  // not in the order of the hellos
        receives[c] = accept(*fabric[1], address[0], key(0, 1, c), kOptions);
      for (int i = 0; i < 300; ++i)
        for (int c = 0; c < kChannels; ++c) expect(*fabric[1], *receives[c], c, i, bytes(i));
    };
    CHECK_NOTHROW(both(sender, receiver));
    CHECK_NOTHROW(both(
        [&] {
          sends.clear();
          fabric[0].reset();
        },
        [&] {
          receives.clear();
          fabric[1].reset();
        }));
  }
}

TEST_CASE("messages are striped over all rails that both ends have") {
  const std::size_t sizes[] = {1, 9000, 262143, 262144, 262145, 400001, 1 << 20, 50, 1 << 20};
  for (const bool rma : {true, false}) {
    const base::Settings with = settings("tcp", rma);
    Two two(open_rails(with, 3), open_rails(with, 2), {8, 1 << 20});
    CHECK_NOTHROW(both(
        [&] {
          for (int i = 0; i < 90; ++i) send(*two.fabric[0], *two.send[0], 0, i, sizes[i % 9]);
          flush(*two.fabric[0], *two.send[0]);
        },
        [&] {
          for (int i = 0; i < 90; ++i) expect(*two.fabric[1], *two.receive[1], 0, i, sizes[i % 9]);
        }));
  }
}

TEST_CASE("pipes of one transport are driven by several threads at once") {
  constexpr int kThreads = 3;
  std::unique_ptr<FabricTransport> fabric[2] = {open_fabric(settings("tcp")),
                                                open_fabric(settings("tcp"))};
  const std::string address[2] = {fabric[0]->address(), fabric[1]->address()};
  std::string failures[2 * kThreads];
  const auto run = [&](int me, int channel, std::string& failure) {
    try {
      if (me == 0) {
        auto pipe = connect(*fabric[0], address[1], key(0, 1, channel), kOptions);
        for (int i = 0; i < 300; ++i) send(*fabric[0], *pipe, channel, i, 1 + i * 40);
        auto last = accept(*fabric[0], address[1], key(1, 0, channel), kOptions);
        expect(*fabric[0], *last, channel, 0, 1);
      } else {
        auto pipe = accept(*fabric[1], address[0], key(0, 1, channel), kOptions);
        for (int i = 0; i < 300; ++i) expect(*fabric[1], *pipe, channel, i, 1 + i * 40);
        auto last = connect(*fabric[1], address[0], key(1, 0, channel), kOptions);
        send(*fabric[1], *last, channel, 0, 1);
        flush(*fabric[1], *last);
      }
    } catch (const std::exception& error) {
      failure = error.what();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2 * kThreads; ++i)
    threads.emplace_back([&, i] { run(i % 2, i / 2, failures[i]); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) CHECK(failure == "");
  both([&] { fabric[0].reset(); }, [&] { fabric[1].reset(); });
}
