// Case stranger: what is not of the job connects to the port where ranks meet.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <thread>

#include "base/fd.hpp"
#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

std::uint16_t port_of(const UniqueId& id) {
  const std::string text = id.to_string();
  return static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
}

base::UniqueFd visit(std::uint16_t port, const std::string& says) {
  base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return base::UniqueFd();
  [[maybe_unused]] const auto sent = send(fd.get(), says.data(), says.size(), MSG_NOSIGNAL);
  return fd;
}

// A length, a kind and a payload, as control messages have.
std::string message(std::uint32_t length, char kind, const std::string& payload) {
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + kind + payload;
}

void work(Communicator& communicator) {
  for (std::size_t i = 0; i < 20; ++i)
    check_operation(communicator,
                    {base::Collective::all_reduce, heddleFloat32, heddleSum, 2, 1000 + i}, false);
}

}  // namespace

TEST_CASE("stranger: strangers do not disturb a job, before or after it starts") {
  const UniqueId id = UniqueId::make();
  const std::uint16_t port = port_of(id);
  std::vector<base::UniqueFd> held;
  const auto all_kinds = [&] {
    visit(port, "");  // connects and closes
    held.push_back(visit(port, "abc"));
    held.push_back(visit(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    held.push_back(visit(port, message(4, 1, "\x63\0\0\0")));              // a cut hello
    held.push_back(visit(port, message(36, 1, std::string(36, '\x01'))));  // a wrong length inside
    held.push_back(visit(port, message(0xffffffff, 3, "")));               // an endless message
    // Another job's hello: well-formed, but it cannot answer the challenge.
    const std::string hello = std::string("\x01\0\0\0\x20\0\0\0", 8) + std::string(32, 'n');
    held.push_back(visit(port, message(40, 1, hello) + message(36, 3, std::string(36, '\0'))));
    for (int i = 0; i < 200; ++i) held.push_back(visit(port, ""));
  };
  all_kinds();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      try {
        auto communicator = Communicator::from_unique_id(id, 2, rank, {"HEDDLE_TIMEOUT=30"});
        work(communicator);
        if (rank == 0) all_kinds();
        work(communicator);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(errors[0] == "");
  CHECK(errors[1] == "");
}

TEST_CASE("stranger: one is dropped within the hello deadline") {
  const UniqueId id = UniqueId::make();
  const base::UniqueFd idle = visit(port_of(id), "abc");
  REQUIRE(idle);
  const timeval patience{10, 0};
  setsockopt(idle.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char byte = 0;
  CHECK(recv(idle.get(), &byte, 1, 0) == 0);  // closed by the root, not timed out
}

}  // namespace heddle::test
