// Strangers, impostors and peers that send the wrong memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.hpp"
#include "catch.hpp"
#include "support.hpp"
#include "transport/shared_memory/ring_layout.hpp"

using namespace heddle;
using namespace heddle::transport;
using namespace heddle::transport::testing;

namespace {

constexpr base::Seconds kShort{0.2};

// Reads what the file holds, so that tests can see what was logged.
class LogFile {
 public:
  LogFile() : path_(fmt::format("/tmp/heddle-handshake-test-{}.log", getpid())) {
    unlink(path_.c_str());
    base::configure_log(base::LogLevel::info, path_);
  }
  ~LogFile() {
    base::configure_log(base::LogLevel::warn, "");
    unlink(path_.c_str());
  }
  int count(const std::string& words) const {
    base::UniqueFd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(1 << 20, '\0');
    const ssize_t bytes = read(file.get(), text.data(), text.size());
    text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    int found = 0;
    for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
      ++found;
    return found;
  }

 private:
  std::string path_;
};

base::UniqueFd stream_to(const SharedMemoryTransport& shm) {
  return until([&] {
    base::UniqueFd fd = open_stream(parse_address(shm.address()).socket);
    return fd;
  });
}

bool closed_by_peer(const base::UniqueFd& socket) {
  char bytes[512];
  for (;;) {
    const ssize_t got = recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0) return true;
    if (got < 0) return errno == ECONNRESET;
  }
}

template <typename Message>
Message read_message(SharedMemoryTransport& shm, const base::UniqueFd& socket) {
  Message message = {};
  std::size_t have = 0;
  until([&] {
    shm.progress();
    const Io io = receive_message(socket.get(), &message, sizeof message, have);
    if (io == Io::closed) base::fail(heddleRemoteError, "closed");
    return io == Io::done;
  });
  return message;
}

// A sender that knows the secret and then hands over what it likes.
Answer offer(SharedMemoryTransport& shm, const PipeSecret& secret, int file,
             const PipeOptions& options = kOptions) {
  const base::UniqueFd socket = stream_to(shm);
  const auto challenge = read_message<Challenge>(shm, socket);
  const Hello hello = new_hello(key(0, 1), options, challenge, secret);
  REQUIRE(send_message(socket.get(), &hello, sizeof hello) == Io::done);
  const auto welcome = read_message<Answer>(shm, socket);
  CHECK(proves(welcome, Step::welcome, challenge, hello, secret));
  REQUIRE(send_message(socket.get(), "r", 1, file) == Io::done);
  return read_message<Answer>(shm, socket);
}

base::UniqueFd memory_file(std::size_t bytes, int seals) {
  base::UniqueFd file(memfd_create("heddle-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(file.get(), static_cast<off_t>(bytes)) == 0);
  REQUIRE(fcntl(file.get(), F_ADD_SEALS, seals) == 0);
  return file;
}

constexpr int kGoodSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

TEST_CASE("a sender with another secret is dropped; the right one still gets its pipe") {
  LogFile log;
  SharedMemoryTransport a;
  SharedMemoryTransport impostor;
  SharedMemoryTransport b;
  a.add_secret(kCommunicator, kSecret);
  b.add_secret(kCommunicator, kSecret);
  impostor.add_secret(kCommunicator, PipeSecret{66});
  const std::string text = error_of([&] {
    until([&] {
      CHECK(b.accept(a.address(), key(0, 1), kOptions) == nullptr);
      return impostor.connect(b.address(), key(0, 1), kOptions);
    });
  });
  CHECK(text.find("6 the shared-memory pipe from rank 0 to rank 1, channel 0: rank 1") == 0);
  CHECK(text.find("holds another secret") != std::string::npos);
  CHECK(log.count("does not know the communicator's secret") == 1);
  Ends ends = connect_both(a, b, key(0, 1));
  send_many(*ends.send, 1, 3);
  CHECK(receive_many(*ends.receive, 1, 3) == -1);
}

TEST_CASE("a receiver that cannot prove the secret gets no memory") {
  Listener fake = listen_abstract();
  SharedMemoryTransport a;
  a.add_secret(kCommunicator, kSecret);
  const std::string address = Address{fake.name, getpid(), own_network_namespace()}.text();
  CHECK(a.connect(address, key(0, 1), kOptions) == nullptr);
  const base::UniqueFd socket = accept_stream(fake.socket.get()).socket;
  REQUIRE(socket);
  const Challenge challenge = new_challenge();
  REQUIRE(send_message(socket.get(), &challenge, sizeof challenge) == Io::done);
  CHECK(a.connect(address, key(0, 1), kOptions) == nullptr);
  Hello hello = {};
  std::size_t have = 0;
  REQUIRE(receive_message(socket.get(), &hello, sizeof hello, have) == Io::done);
  CHECK(proves(hello, challenge, kSecret));
  const Answer answer = new_answer(Step::welcome, "", challenge, hello, PipeSecret{66});
  REQUIRE(send_message(socket.get(), &answer, sizeof answer) == Io::done);
  CHECK(error_of([&] {
          a.connect(address, key(0, 1), kOptions);
        }).find("does not know the communicator's secret") != std::string::npos);
  CHECK(closed_by_peer(socket));
}

TEST_CASE("a proof is good for one challenge, one pipe and one step") {
  const Challenge challenge = new_challenge();
  const Hello hello = new_hello(key(0, 1), kOptions, challenge, kSecret);
  CHECK(proves(hello, challenge, kSecret));
  CHECK_FALSE(proves(hello, new_challenge(), kSecret));
  CHECK_FALSE(proves(hello, challenge, PipeSecret{}));
  Hello changed = hello;
  changed.to = 2;
  CHECK_FALSE(proves(changed, challenge, kSecret));
  const Answer welcome = new_answer(Step::welcome, "", challenge, hello, kSecret);
  CHECK(proves(welcome, Step::welcome, challenge, hello, kSecret));
  CHECK_FALSE(proves(welcome, Step::ready, challenge, hello, kSecret));
  Answer turned = welcome;
  turned.accepted = 0;
  CHECK_FALSE(proves(turned, Step::welcome, challenge, hello, kSecret));
}

TEST_CASE("stranger: strangers are dropped by the deadline and disturb nobody") {
  LogFile log;
  SharedMemoryTransport a;
  SharedMemoryTransport b(kShort);
  a.add_secret(kCommunicator, kSecret);
  b.add_secret(kCommunicator, kSecret);
  const int before = open_descriptors();
  std::vector<base::UniqueFd> strangers;
  stream_to(b).reset();  // connects and closes
  strangers.push_back(stream_to(b));
  REQUIRE(send_message(strangers.back().get(), "abc", 3) == Io::done);
  const std::string garbage(4096, 'x');
  strangers.push_back(stream_to(b));
  REQUIRE(send_message(strangers.back().get(), garbage.data(), garbage.size()) == Io::done);
  const std::string http = "GET / HTTP/1.1\r\nHost: heddle\r\n\r\n";
  strangers.push_back(stream_to(b));
  REQUIRE(send_message(strangers.back().get(), http.data(), http.size()) == Io::done);
  for (int i = 0; i < 200; ++i) strangers.push_back(stream_to(b));

  Ends ends = connect_both(a, b, key(0, 1));
  send_many(*ends.send, 1, 3);
  CHECK(receive_many(*ends.receive, 1, 3) == -1);
  until([&] {
    b.progress();
    for (const base::UniqueFd& stranger : strangers)
      if (!closed_by_peer(stranger)) return false;
    return true;
  });
  CHECK(log.count("dropped a connection from process") == 204);
  CHECK(log.count("it said no complete hello in time") == 202);
  CHECK(log.count("it does not speak this protocol") == 1);
  strangers.clear();
  CHECK(open_descriptors() == before);
}

TEST_CASE("a hello for a communicator that comes later is kept, for a while") {
  SharedMemoryTransport a;
  SharedMemoryTransport b(kShort);
  a.add_secret(kCommunicator, kSecret);
  auto connect = [&] { return a.connect(b.address(), key(0, 1), kOptions); };
  for (int i = 0; i < 3; ++i) {
    CHECK(connect() == nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    b.progress();
  }
  SECTION("in time") {
    b.add_secret(kCommunicator, kSecret);
    until([&] {
      b.progress();
      return connect();
    });
    CHECK(until([&] { return b.accept(a.address(), key(0, 1), kOptions); }) != nullptr);
  }
  SECTION("never") {
    LogFile log;
    const std::string text = error_of([&] {
      until([&] {
        b.progress();
        return connect();
      });
    });
    CHECK(text.find("does not know this communicator") != std::string::npos);
    CHECK(log.count("it names a communicator that is not known here") == 1);
  }
}

TEST_CASE("memory that is no ring of the agreed shape is refused by name") {
  SharedMemoryTransport shm;
  shm.add_secret(kCommunicator, kSecret);
  base::configure_log(base::LogLevel::error, "");
  base::UniqueFd file;
  std::string expected;
  SECTION("too small") {
    file = memory_file(ring_bytes(kOptions) - 4096, kGoodSeals);
    expected = "bytes where";
  }
  SECTION("too large") {
    file = memory_file(ring_bytes(kOptions) + 4096, kGoodSeals);
    expected = "bytes where";
  }
  SECTION("not sealed") {
    file = memory_file(ring_bytes(kOptions), F_SEAL_GROW);
    expected = "not sealed";
  }
  SECTION("no header") {
    file = memory_file(ring_bytes(kOptions), kGoodSeals);
    expected = "magic 0x0";
  }
  SECTION("another geometry of the same size") {
    const PipeOptions other = {8, 4096};
    REQUIRE(ring_bytes(other) == ring_bytes(kOptions));
    file = create_ring(other).file;
    expected = "8 slots of 4096 bytes where 4 of 8192";
  }
  SECTION("not a file at all") {
    file = base::UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
    expected = "bytes where";
  }
  SECTION("no descriptor") { expected = "sent no memory"; }
  const int before = open_descriptors();
  const Answer answer = offer(shm, kSecret, file ? file.get() : -1);
  CHECK(answer.accepted == 0);
  CHECK(std::string(answer.reason).find(expected) != std::string::npos);
  CHECK(error_of([&] { shm.accept(shm.address(), key(0, 1), kOptions); }).find(expected) !=
        std::string::npos);
  CHECK(open_descriptors() == before);
  base::configure_log(base::LogLevel::warn, "");
}

TEST_CASE("a geometry that no ring may have is refused before memory is mapped") {
  SharedMemoryTransport shm;
  shm.add_secret(kCommunicator, kSecret);
  base::configure_log(base::LogLevel::error, "");
  const base::UniqueFd file = memory_file(4096, kGoodSeals);
  const Answer answer = offer(shm, kSecret, file.get(), {-1, ~std::size_t{0}});
  CHECK(answer.accepted == 0);
  CHECK(std::string(answer.reason).find("a pipe of -1 slots") != std::string::npos);
  base::configure_log(base::LogLevel::warn, "");
}

TEST_CASE("a good ring from a sender written by hand is accepted") {
  SharedMemoryTransport shm;
  shm.add_secret(kCommunicator, kSecret);
  RingFile ring = create_ring(kOptions);
  CHECK(offer(shm, kSecret, ring.file.get()).accepted == 1);
  CHECK(shm.accept(shm.address(), key(0, 1), kOptions) != nullptr);
}
