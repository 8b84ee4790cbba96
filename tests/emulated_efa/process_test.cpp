// Peers that are other processes: killed, or stopped and continued.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.hpp"
#include "errors.hpp"

using namespace client;
using namespace emulated_efa;

namespace {

struct Card {
  std::uint8_t address[32];
  std::uint64_t at, key;
};

// A process with adapter 1 that anybody may write to, who must be introduced to it first. Forked
// before this process has used libfabric.
class Other {
 public:
  Other() {
    REQUIRE(pipe(to_us_) == 0);
    REQUIRE(pipe(to_it_) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) serve();
    REQUIRE(read(to_us_[0], &card, sizeof card) == sizeof card);
  }
  ~Other() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    for (const int end : {to_us_[0], to_us_[1], to_it_[0], to_it_[1]}) close(end);
  }
  Other(const Other&) = delete;

  void introduce(const std::vector<std::uint8_t>& address) {
    REQUIRE(write(to_it_[1], address.data(), address.size()) == 32);
    char done;
    REQUIRE(read(to_us_[0], &done, 1) == 1);
  }
  void signal(int number) const { REQUIRE(kill(pid_, number) == 0); }

  Card card{};

 private:
  [[noreturn]] void serve() {
    std::vector<std::uint8_t> memory(4096);
    Client client(1);
    fid_mr* const region = client.reg(memory.data(), memory.size(), FI_REMOTE_WRITE);
    const auto address = client.address();
    std::memcpy(card.address, address.data(), sizeof card.address);
    card.at = reinterpret_cast<std::uint64_t>(memory.data());
    card.key = fi_mr_key(region);
    if (write(to_us_[1], &card, sizeof card) != sizeof card) _exit(1);
    std::vector<std::uint8_t> other(32);
    if (read(to_it_[0], other.data(), other.size()) != 32) _exit(1);
    client.insert(other);
    if (write(to_us_[1], "", 1) != 1) _exit(1);
    for (;;) client.poll();
  }

  int to_us_[2], to_it_[2];
  pid_t pid_;
};

}  // namespace

TEST_CASE("a peer that is stopped does not respond until it goes on, a killed one never") {
  const Setting setting("patience 300ms");
  Other other;
  std::vector<std::uint8_t> memory(4096, 1);
  Client client(0);
  fid_mr* const region = client.reg(memory.data(), memory.size(), FI_WRITE);
  const fi_addr_t peer = client.insert({other.card.address, other.card.address + 32});
  other.introduce(client.address());
  fi_context2 context;
  // The status of one write, or -1 when nothing is heard of it.
  const auto write_status = [&] {
    if (fi_write(client.ep(), memory.data(), 64, client.desc(region), peer, other.card.at,
                 other.card.key, &context) != 0)
      return -2;
    const auto end = Clock::now() + std::chrono::seconds(20);
    std::optional<Seen> seen;
    while (!seen && Clock::now() < end) seen = client.poll();
    return seen ? seen->status : -1;
  };
  CHECK(write_status() == kFine);
  other.signal(SIGSTOP);
  CHECK(write_status() == kUnresponsive);
  other.signal(SIGCONT);
  int status = kUnresponsive;
  for (int attempt = 0; attempt < 20 && status == kUnresponsive; ++attempt) status = write_status();
  CHECK(status == kFine);
  other.signal(SIGKILL);
  CHECK(write_status() == kUnresponsive);
  CHECK(write_status() == kUnresponsive);
}
