// Both ends in processes of their own, and what a process does to its limits.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "catch.hpp"
#include "support.hpp"

using namespace heddle;
using namespace heddle::transport;
using namespace heddle::transport::testing;

namespace {

// A forked process that runs `work` with a socket to this one. Its result is work's, or 100 when
// work throws; a child must not run the checks of the test program.
class Child {
 public:
  template <typename Work>
  explicit Child(Work work) {
    int sockets[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    socket_ = base::UniqueFd(sockets[0]);
    const base::UniqueFd theirs(sockets[1]);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    socket_.reset();
    int result = 100;
    try {
      result = work(theirs.get());
    } catch (const std::exception& error) {
      fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(result);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void end() { ::kill(pid_, SIGKILL); }
  int result() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  int socket() const { return socket_.get(); }

 private:
  pid_t pid_ = 0;
  base::UniqueFd socket_;
};

std::string trade(int socket, const std::string& mine) {
  char text[256] = {};
  if (write(socket, mine.data(), mine.size()) < 0 || read(socket, text, sizeof text - 1) <= 0)
    base::fail(heddleRemoteError, "the other process has ended");
  return text;
}

Ends both_ways(SharedMemoryTransport& shm, const std::string& peer, int self, int channel = 0) {
  shm.add_secret(kCommunicator, kSecret);
  Ends ends;
  until([&] {
    if (!ends.send) ends.send = shm.connect(peer, key(self, 1 - self, channel), kOptions);
    if (!ends.receive) ends.receive = shm.accept(peer, key(1 - self, self, channel), kOptions);
    return ends.send && ends.receive;
  });
  return ends;
}

constexpr std::string_view kLimitWords =
    "(RLIMIT_NOFILE) is 64 of at most 4096: raise it with ulimit -n";

// Lowers this process's limit and uses up its descriptors but for `spare`.
std::vector<base::UniqueFd> leave_descriptors(std::size_t spare) {
  const rlimit limit = {64, 4096};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) base::fail_errno(errno, "setrlimit");
  std::vector<base::UniqueFd> used;
  do used.emplace_back(dup(STDERR_FILENO));
  while (used.back());
  used.resize(used.size() - 1 - spare);
  return used;
}

}  // namespace

TEST_CASE("two processes exchange thousands of messages, both ways at once") {
  Child child([](int socket) {
    SharedMemoryTransport shm;
    Ends ends = both_ways(shm, trade(socket, shm.address()), 1);
    const int wrong = receive_many(*ends.receive, 21, 3000);
    send_many(*ends.send, 22, 3000);
    return wrong == -1 ? 0 : 1;
  });
  SharedMemoryTransport shm;
  Ends ends = both_ways(shm, trade(child.socket(), shm.address()), 0);
  send_many(*ends.send, 21, 3000);
  CHECK(receive_many(*ends.receive, 22, 3000) == -1);
  CHECK(child.result() == 0);
}

TEST_CASE("a process that leaves in order is noticed after its last message") {
  Child child([](int socket) {
    SharedMemoryTransport shm;
    Ends ends = both_ways(shm, trade(socket, shm.address()), 1);
    send_many(*ends.send, 5, 3);
    trade(socket, "sent");
    return 0;
  });
  SharedMemoryTransport shm;
  Ends ends = both_ways(shm, trade(child.socket(), shm.address()), 0);
  trade(child.socket(), "wait");
  CHECK(child.result() == 0);
  CHECK(receive_many(*ends.receive, 5, 3) == -1);
  CHECK(error_of([&] { ends.receive->peek(8); }).find("rank 1 closed its end") !=
        std::string::npos);
  const std::string text = error_of([&] {
    for (int i = 0; i <= kOptions.slots; ++i) {
      ends.send->acquire(8);
      ends.send->commit(8);
    }
  });
  CHECK(text.find("rank 1 closed its end") != std::string::npos);
}

TEST_CASE("a killed process leaves nothing: its memory stays readable, its address refuses") {
  Child child([](int socket) {
    SharedMemoryTransport shm;
    Ends ends = both_ways(shm, trade(socket, shm.address()), 1);
    send_many(*ends.send, 5, 2);
    trade(socket, "sent");
    pause();
    return 0;
  });
  SharedMemoryTransport shm;
  const std::string peer = trade(child.socket(), shm.address());
  Ends ends = both_ways(shm, peer, 0);
  trade(child.socket(), "wait");
  child.end();
  CHECK(child.result() == 1000 + SIGKILL);
  CHECK(receive_many(*ends.receive, 5, 2) == -1);
  CHECK(ends.receive->peek(8) == nullptr);  // who died is for the communicator to find out
  CHECK(error_of([&] { shm.connect(peer, key(0, 1, 1), kOptions); }).find("nobody listens") !=
        std::string::npos);
}

TEST_CASE("fork-children: a child that exits does not close its parent's pipes") {
  SharedMemoryTransport shm;
  shm.add_secret(kCommunicator, kSecret);
  auto ends = std::make_unique<Ends>(connect_both(shm, shm, key(0, 1)));
  Child child([&](int) {
    ends.reset();
    return 0;
  });
  CHECK(child.result() == 0);
  CHECK(ends->receive->peek(8) == nullptr);
  send_many(*ends->send, 1, kOptions.slots);
  CHECK(receive_many(*ends->receive, 1, kOptions.slots) == -1);
}

TEST_CASE("no-leaks: with few descriptors the error names the limit and what to do") {
  auto limited = [](std::size_t spare, auto work) {
    return Child([=](int) {
             const std::vector<base::UniqueFd> used = leave_descriptors(spare);
             const std::string text = error_of(work);
             if (text.empty()) return 1;
             if (text.find(kLimitWords) != std::string::npos) return 0;
             fprintf(stderr, "error was: %s\n", text.c_str());
             return 3;
           })
        .result();
  };
  auto transport_alone = [] { SharedMemoryTransport shm; };
  auto pipe = [] {
    SharedMemoryTransport shm;
    shm.add_secret(kCommunicator, kSecret);
    connect_both(shm, shm, key(0, 1));
  };
  CHECK(limited(0, transport_alone) == 0);
  CHECK(limited(1, pipe) == 0);  // the listener, then no socket
  CHECK(limited(2, pipe) == 0);  // one side's socket
  CHECK(limited(3, pipe) == 0);  // both sockets, no memory
  CHECK(limited(4, pipe) == 1);  // and this is enough
}

TEST_CASE("no-leaks: memory that finds no free descriptor is an error at both ends") {
  Child child([](int socket) {
    const std::vector<base::UniqueFd> used = leave_descriptors(2);  // listener and connection
    SharedMemoryTransport shm;
    shm.add_secret(kCommunicator, kSecret);
    const std::string peer = trade(socket, shm.address());
    const std::string text =
        error_of([&] { until([&] { return shm.accept(peer, key(0, 1), kOptions); }); });
    return text.find(kLimitWords) != std::string::npos ? 0 : 1;
  });
  SharedMemoryTransport shm;
  shm.add_secret(kCommunicator, kSecret);
  const std::string peer = trade(child.socket(), shm.address());
  const std::string text =
      error_of([&] { until([&] { return shm.connect(peer, key(0, 1), kOptions); }); });
  CHECK(text.find("refused") != std::string::npos);
  CHECK(text.find("(RLIMIT_NOFILE) is 64") != std::string::npos);
  CHECK(child.result() == 0);
}
