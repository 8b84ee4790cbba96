// A resolver of names that does not answer must not hold up who asks.
#include "communicator/resolve.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "catch.hpp"
#include "communicator/tcp.hpp"
#include "support/base_errors.hpp"

namespace heddle::communicator {
namespace {

using Catch::Matchers::Contains;

std::vector<SocketAddress> none(const base::HostPort&) { return {}; }

std::string error_of(const std::vector<std::string>& addresses, const Resolver& resolver) {
  return test::error_of(
      [&] { connect_tcp(addresses, base::Deadline(base::Seconds(0.3)), resolver); },
      heddleRemoteError);
}

}  // namespace

TEST_CASE("a resolver that never answers ends at the deadline") {
  const auto release = std::make_shared<std::atomic<bool>>(false);
  const Resolver stuck = [release](const base::HostPort&) {
    while (!*release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::vector<SocketAddress>();
  };
  const std::string error = error_of({"some.host:4000"}, stuck);
  *release = true;
  CHECK_THAT(error, Contains("some.host:4000: the resolver of names does not answer"));
}

TEST_CASE("a name that nobody knows is said") {
  CHECK_THAT(error_of({"some.host:4000"}, none),
             Contains("some.host:4000: the name does not resolve"));
}

TEST_CASE("a name that resolves is connected to") {
  const Listener listener = listen_tcp(0);
  const std::string port = std::to_string(listener.port);
  std::string asked;
  const Resolver to_loopback = [&](const base::HostPort& place) {
    asked = place.host;
    return ask_system({"127.0.0.1", place.port});
  };
  const base::Deadline deadline(base::Seconds(20));
  CHECK(connect_tcp({"some.host:" + port}, deadline, to_loopback));
  CHECK(asked == "some.host");
  CHECK(connect_tcp({"localhost:" + port}, deadline));
  // A numeric address asks no resolver.
  CHECK(connect_tcp({"127.0.0.1:" + port}, deadline, none));
}

}  // namespace heddle::communicator
