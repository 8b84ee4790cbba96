// Fabric pipes between processes, and what becomes of one when the other is killed.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.hpp"
#include "support.hpp"

using namespace fabric_test;

namespace {

constexpr PipeOptions kOptions{8, 65536};

std::string swap_addresses(int socket, const std::string& mine) {
  const auto size = static_cast<std::uint32_t>(mine.size());
  std::uint32_t other_size = 0;
  std::string other;
  bool good = write(socket, &size, 4) == 4 && write(socket, mine.data(), size) == ssize_t(size) &&
              recv(socket, &other_size, 4, MSG_WAITALL) == 4 && other_size < 10000;
  other.resize(good ? other_size : 0);
  good = good && recv(socket, other.data(), other_size, MSG_WAITALL) == ssize_t(other_size);
  if (!good) base::fail(heddleSystemError, "test: the other process gave no address");
  return other;
}

// Runs `child` in a forked process, as rank 1 of two, and kills it when the test ends.
class Child {
 public:
  explicit Child(const std::function<void(int socket)>& child) {
    int sockets[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      close(sockets[0]);
      int status = 0;
      try {
        child(sockets[1]);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "child: %s\n", error.what());
        status = 1;
      }
      _exit(status);
    }
    close(sockets[1]);
    socket_ = base::UniqueFd(sockets[0]);
  }
  ~Child() {
    if (pid_ > 0) kill_it();
  }
  int socket() const { return socket_.get(); }
  void kill_it() {
    kill(pid_, SIGKILL);
    join();
  }
  int join() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
  base::UniqueFd socket_;
};

struct End {
  std::unique_ptr<FabricTransport> fabric;
  std::unique_ptr<SendPipe> send;
  std::unique_ptr<ReceivePipe> receive;

  End(const Way& way, int me, int socket) : fabric(open_fabric(settings(way.provider, way.rma))) {
    const std::string peer = swap_addresses(socket, fabric->address());
    eventually(*fabric, "pipes", [&] {
      if (!send) send = fabric->connect(peer, key(me, 1 - me), kOptions);
      if (!receive) receive = fabric->accept(peer, key(1 - me, me), kOptions);
      return send && receive;
    });
  }
};

std::size_t bytes_of(int i) { return i % 5 == 0 ? 50000 : 1 + i * 37 % 9000; }

void echo(End& end, int me, int messages) {
  for (int i = 0; i < messages; ++i) {
    if (me == 0) send(*end.fabric, *end.send, 0, i, bytes_of(i));
    expect(*end.fabric, *end.receive, 1 - me, i, bytes_of(i));
    if (me == 1) send(*end.fabric, *end.send, 1, i, bytes_of(i));
  }
}

}  // namespace

// The first test: processes must fork before this one has used libfabric.
TEST_CASE("two processes exchange messages over every provider and path") {
  for (const auto& [provider, rma] :
       {std::pair("tcp", true), std::pair("tcp", false), std::pair("tcp;ofi_rxm", true),
        std::pair("tcp;ofi_rxm", false), std::pair("sockets", true), std::pair("sockets", false)}) {
    INFO(provider << (rma ? " rma" : " messages"));
    const Way way{provider, rma, provider == std::string("sockets") ? 4 : 300};
    Child child([&](int socket) {
      End end(way, 1, socket);
      echo(end, 1, way.repeat);
    });
    try {
      End end(way, 0, child.socket());
      CHECK_NOTHROW(echo(end, 0, way.repeat));
    } catch (const base::Error& error) {
      FAIL(error.what());
    }
    CHECK(child.join() == 0);
  }
}

TEST_CASE("kill-stop-vanish: a process killed in mid-stream leaves no one hanging") {
  for (const auto& [provider, rma] :
       {std::pair("tcp", true), std::pair("tcp", false), std::pair("tcp;ofi_rxm", true),
        std::pair("tcp;ofi_rxm", false), std::pair("sockets", true), std::pair("sockets", false)}) {
    INFO(provider << (rma ? " rma" : " messages"));
    const Way way{provider, rma, 0};
    Child child([&](int socket) {
      End end(way, 1, socket);
      for (int i = 0;; ++i) {  // until it is killed
        send(*end.fabric, *end.send, 1, i, bytes_of(i));
        expect(*end.fabric, *end.receive, 0, i, bytes_of(i));
      }
    });
    auto end = std::make_unique<End>(way, 0, child.socket());
    bool told = false;
    const base::Deadline deadline(base::Seconds(9));
    try {
      for (int i = 0; !deadline.passed(); ++i) {
        if (i == 3) child.kill_it();
        std::byte* slot = nullptr;
        // A rank that waits without sending must learn of it too.
        while (i < 4 && !slot && !deadline.passed()) {
          slot = end->send->acquire(bytes_of(i));
          end->fabric->progress();
        }
        for (std::size_t b = 0; slot && b < bytes_of(i); ++b) slot[b] = pattern(0, i, b);
        if (slot) end->send->commit(bytes_of(i));
        const std::byte* message = nullptr;
        while (!message && !deadline.passed()) {
          message = end->receive->peek(bytes_of(i));
          end->fabric->progress();
        }
        if (message) end->receive->release();
      }
    } catch (const base::Error& error) {
      told = true;
      INFO(error.what());
      CHECK(error.code() == heddleRemoteError);
      CHECK_THAT(error.what(), Catch::Matchers::Contains("rank"));
      CHECK_THAT(error.what(), Catch::Matchers::Contains("peer: process"));
    }
    CHECK(told);
    const auto start = base::Clock::now();
    end.reset();
    CHECK(base::seconds_since(start) < 5);
  }
}
