// Who is not, or no longer, part of a running job: a rank that comes too late and a forked child.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "ranks.hpp"
#include "support/errors.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Passes one connection on to a port of this host, both ways. When the caller hangs up, the
// connection to that port stays open as long as the relay lives: a peer that holds on.
class Relay {
 public:
  explicit Relay(std::uint16_t target) : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    REQUIRE(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(listener_.get(), 1) == 0);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    far_ = base::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address = loopback(target);
    REQUIRE(connect(far_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    thread_ = std::thread([this] { pass_on(); });
  }
  ~Relay() {
    stop_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return port_; }

 private:
  static bool copy(const base::UniqueFd& from, const base::UniqueFd& to) {
    char bytes[4096];
    const ssize_t got = recv(from.get(), bytes, sizeof bytes, 0);
    return got > 0 && send(to.get(), bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
  }
  bool readable(const base::UniqueFd& fd) const {
    pollfd entry{fd.get(), POLLIN, 0};
    return poll(&entry, 1, 5) > 0;
  }
  void pass_on() {
    while (!stop_ && !readable(listener_)) continue;
    const base::UniqueFd near(accept(listener_.get(), nullptr, nullptr));
    bool near_open = true;
    bool far_open = true;
    while (!stop_ && near_open && far_open) {
      if (readable(near)) near_open = copy(near, far_);
      if (readable(far_)) far_open = copy(far_, near);
    }
  }

  base::UniqueFd listener_;
  base::UniqueFd far_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void must(heddleResult_t result) {
  if (result != heddleSuccess) expect(false, heddleGetLastError(nullptr));
}

struct Rank {
  heddleComm_t comm = nullptr;
  int rank = 0;
  int ranks = 0;

  Rank(const UniqueId& id, int the_rank, int the_ranks, const std::string& settings)
      : rank(the_rank), ranks(the_ranks) {
    heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
    config.settings = settings.c_str();
    must(heddleCommInitRankConfig(&comm, ranks, id.get(), rank, &config));
  }
  void work(int operations) const {
    for (int i = 0; i < operations; ++i) {
      std::vector<int> values(1000 + static_cast<std::size_t>(i));
      for (std::size_t j = 0; j < values.size(); ++j) values[j] = static_cast<int>(j) + rank + i;
      must(heddleAllReduce(values.data(), values.data(), values.size(), heddleInt32, heddleSum,
                           comm, nullptr));
      for (std::size_t j = 0; j < values.size(); ++j)
        if (values[j] != ranks * (static_cast<int>(j) + i) + ranks * (ranks - 1) / 2)
          expect(false, "operation " + std::to_string(i) + " is wrong at " + std::to_string(j));
    }
  }
  void destroy() const { must(heddleCommDestroy(comm)); }
};

// The one answer that a forked child may get.
void refused(const char* call, heddleResult_t result) {
  const std::string text = heddleGetLastError(nullptr);
  expect(result == heddleInvalidUsage, std::string(call) + " in a forked child returned \"" +
                                           heddleGetErrorString(result) + "\"");
  expect(text.find("forked") != std::string::npos, std::string(call) + " says: " + text);
}

// Every call that could disturb the parent, by a child that was forked while `work` went on.
void misuse_then_exit(heddleComm_t comm, heddleWork_t work) {
  float value = 1;
  heddleWork_t other = nullptr;
  heddleResult_t state = heddleSuccess;
  heddleUniqueId id;
  refused("heddleAllReduce",
          heddleAllReduce(&value, &value, 1, heddleFloat32, heddleSum, comm, nullptr));
  refused("heddleAllReduceAsync",
          heddleAllReduceAsync(&value, &value, 1, heddleFloat32, heddleSum, comm, nullptr, &other));
  refused("heddleWorkTest", heddleWorkTest(work));
  refused("heddleWorkWait", heddleWorkWait(work, 100));
  refused("heddleCommGetAsyncError", heddleCommGetAsyncError(comm, &state));
  refused("heddleCommFinalize", heddleCommFinalize(comm));
  refused("heddleCommAbort", heddleCommAbort(comm));
  refused("heddleCommDestroy", heddleCommDestroy(comm));
  refused("heddleGetUniqueId", heddleGetUniqueId(&id));
  std::exit(0);  // with all that the library does at exit
}

}  // namespace

TEST_CASE("a rank that comes when all are there is refused and disturbs nobody") {
  const UniqueId id = UniqueId::make();
  const std::string text = id.to_string();
  const Relay relay(static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1))));
  const auto late_id = UniqueId::from_string(text.substr(0, text.rfind(' ')) +
                                             " 127.0.0.1:" + std::to_string(relay.port()));
  std::vector<std::string> errors(4);
  std::string refusal;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank)
    threads.emplace_back([&, rank] {
      errors[static_cast<std::size_t>(rank)] = what_of([&] {
        const Rank mine(id, rank, 4, "HEDDLE_TIMEOUT=20");
        mine.work(5);
        if (rank == 3)
          refusal = what_of([&] { Rank(late_id, 6, 8, "HEDDLE_INIT_TIMEOUT=10").destroy(); });
        mine.work(50);
        mine.destroy();
      });
    });
  for (auto& thread : threads) thread.join();
  CHECK_THAT(refusal, Contains("rank 6") && Contains("too late"));
  for (const auto& error : errors) CHECK(error == "");
}

TEST_CASE("a forked child can only be told so, and exits; its parent goes on") {
  const std::string how = GENERATE("HEDDLE_SHM=1", "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp");
  INFO(how);
  const UniqueId id = UniqueId::make();
  std::atomic<bool> forked{false};
  std::vector<float> values(50000, 1.0F);
  std::vector<float> others(50000, 2.0F);
  const auto start = [](const Rank& rank, std::vector<float>& buffer) {
    heddleWork_t work = nullptr;
    must(heddleAllReduceAsync(buffer.data(), buffer.data(), buffer.size(), heddleFloat32, heddleSum,
                              rank.comm, nullptr, &work));
    return work;
  };
  std::string other_error;
  std::thread other([&] {
    other_error = what_of([&] {
      const Rank mine(id, 1, 2, how);
      mine.work(3);
      for (int i = 0; i < 2000 && !forked; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      Work(start(mine, others)).wait();
      mine.work(20);
      mine.destroy();
    });
  });
  std::optional<int> status;
  const std::string error = what_of([&] {
    const Rank mine(id, 0, 2, how);
    mine.work(3);
    const heddleWork_t work = start(mine, values);
    Work owner(work);
    Child child([&] { misuse_then_exit(mine.comm, work); });
    status = child.wait(base::Seconds(5));
    forked = true;
    owner.wait();
    expect(values.front() == 3.0F && values.back() == 3.0F, "the parent's work is wrong");
    mine.work(20);
    mine.destroy();
  });
  forked = true;
  other.join();
  CHECK(error == "");
  CHECK(other_error == "");
  REQUIRE(status);
  CHECK(WIFEXITED(*status));
  // A leak checker may object at exit to what the parent's threads hold: any status but the
  // child's.
  CHECK(WEXITSTATUS(*status) != Child::kFailed);
}

TEST_CASE("a forked child cannot join: it would take the place of a rank, without threads") {
  const UniqueId id = UniqueId::make();
  Child child([&] {
    heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
    config.settings = "HEDDLE_INIT_TIMEOUT=2";
    heddleComm_t comm = nullptr;
    refused("heddleCommInitRank", heddleCommInitRankConfig(&comm, 2, id.get(), 1, &config));
    std::exit(0);
  });
  const auto status = child.wait(base::Seconds(8));
  REQUIRE(status);
  CHECK(WIFEXITED(*status));
  CHECK(WEXITSTATUS(*status) != Child::kFailed);  // as above
}

}  // namespace heddle::test
