// Connecting on a port where nobody listens yet.
#include "communicator/tcp.hpp"

#include <fmt/format.h>

#include <fstream>

#include "base/error.hpp"
#include "catch.hpp"

namespace heddle::communicator {

TEST_CASE("a rank that comes before the root does not connect to itself") {
  // Linux takes the near end of a connection from these ports, and first from every second one. In
  // a second of tries it comes to each many times, that of the far end included.
  int first = 0;
  int last = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first >> last;
  REQUIRE(last > first);
  const int port = first + (last - first) / 4 * 2;
  const std::vector<std::string> addresses(50'000, fmt::format("127.0.0.1:{}", port));
  CHECK_THROWS_AS(connect_tcp(addresses, base::Deadline(base::Seconds(1))), base::Error);
}

TEST_CASE("nobody who waits is no lack of descriptors") {
  const Listener listener = listen_tcp(0);
  CHECK(!accept_tcp(listener.socket));
  CHECK(errno == EAGAIN);
}

}  // namespace heddle::communicator
