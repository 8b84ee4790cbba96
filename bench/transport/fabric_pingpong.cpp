// Latency and bandwidth of fabric pipes between two processes of this host, beside which
// fi_pingpong of libfabric can be laid. Usage: fabric_pingpong [provider [rounds [slot bytes]]];
// provider net, iterations 20000 and 1 MiB are the defaults. One row a line: size, microseconds one
// way, MB/s.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "transport/fabric/fabric_transport.hpp"

namespace {

using namespace heddle;

constexpr std::array<std::uint8_t, 16> kCommunicator = {7};
constexpr std::array<std::uint8_t, 32> kSecret = {9};

struct Ends {
  std::unique_ptr<transport::FabricTransport> fabric;
  std::unique_ptr<transport::SendPipe> send;
  std::unique_ptr<transport::ReceivePipe> receive;
};

std::string swap_texts(int socket, const std::string& mine) {
  const auto size = static_cast<std::uint32_t>(mine.size());
  std::uint32_t other_size = 0;
  std::string other;
  bool good = write(socket, &size, 4) == 4 && write(socket, mine.data(), size) == ssize_t(size) &&
              read(socket, &other_size, 4) == 4;
  other.resize(other_size);
  good = good && recv(socket, other.data(), other_size, MSG_WAITALL) == ssize_t(other_size);
  if (!good) std::exit(2);
  return other;
}

Ends join(int rank, int socket, const base::Settings& settings, std::size_t slot_bytes) {
  const std::string interfaces[] = {"lo"};
  Ends ends;
  ends.fabric = std::make_unique<transport::FabricTransport>(settings, interfaces);
  ends.fabric->add_secret(kCommunicator, kSecret);
  const std::string peer = swap_texts(socket, ends.fabric->address());
  const transport::PipeOptions options{8, slot_bytes};
  const base::Deadline deadline(base::Seconds(20));
  while (!ends.send || !ends.receive) {
    if (!ends.send)
      ends.send = ends.fabric->connect(peer, {kCommunicator, rank, 1 - rank, 0}, options);
    if (!ends.receive)
      ends.receive = ends.fabric->accept(peer, {kCommunicator, 1 - rank, rank, 0}, options);
    if (deadline.passed()) std::exit(3);
  }
  return ends;
}

void send(Ends& ends, std::size_t bytes) {
  while (ends.send->acquire(bytes) == nullptr) ends.fabric->progress();
  ends.send->commit(bytes);
}

void receive(Ends& ends, std::size_t bytes) {
  while (ends.receive->peek(bytes) == nullptr) ends.fabric->progress();
  ends.receive->release();
}

void pingpong(Ends& ends, int rank, std::size_t bytes, int rounds) {
  base::Clock::time_point start;
  for (int i = -rounds / 10; i < rounds; ++i) {
    if (i == 0) start = base::Clock::now();
    if (rank == 0) send(ends, bytes);
    receive(ends, bytes);
    if (rank == 1) send(ends, bytes);
  }
  const double us = base::seconds_since(start) / rounds / 2 * 1e6;
  if (rank == 0)
    std::printf("pingpong %9zu B  %10.2f us  %9.1f MB/s\n", bytes, us, double(bytes) / us);
}

// Rank 0 sends all, rank 1 answers the last.
void stream(Ends& ends, int rank, std::size_t bytes, int rounds) {
  const auto start = base::Clock::now();
  for (int i = 0; i < rounds; ++i) rank == 0 ? send(ends, bytes) : receive(ends, bytes);
  if (rank == 0)
    receive(ends, 1);
  else
    send(ends, 1);
  const double us = base::seconds_since(start) * 1e6 / rounds;
  if (rank == 0)
    std::printf("stream   %9zu B  %10.2f us  %9.1f MB/s\n", bytes, us, double(bytes) / us);
}

}  // namespace

int main(int argc, char** argv) {
  base::Settings settings;
  settings.provider = argc > 1 ? argv[1] : "net";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 20000;
  const std::size_t slot_bytes = argc > 3 ? std::strtoull(argv[3], nullptr, 0) : 1 << 20;
  if (const char* rma = std::getenv("HEDDLE_RMA")) settings.rma = std::strcmp(rma, "0") != 0;
  if (std::getenv("HEDDLE_LOG") != nullptr) base::configure_log(base::LogLevel::debug, "");
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 2;
  const pid_t child = fork();
  const int rank = child == 0 ? 1 : 0;
  try {
    Ends ends = join(rank, sockets[rank], settings, slot_bytes);
    for (const std::size_t bytes :
         {8u, 64u, 512u, 4096u, 8192u, 16384u, 65536u, 262144u, 1048576u}) {
      if (bytes > slot_bytes) break;
      const int times = std::max(20, static_cast<int>(rounds / (1 + bytes / 4096)));
      pingpong(ends, rank, bytes, times);
      stream(ends, rank, bytes, times);
    }
  } catch (const base::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    if (rank == 1) _exit(1);
  }
  if (rank == 1) std::exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
