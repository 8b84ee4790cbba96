#include "base/host_port.hpp"

#include "catch.hpp"

namespace heddle::base {

TEST_CASE("host:port is read and written") {
  for (const char* text : {"host:1", "10.0.0.1:65535", "[fd00::1]:4000", "[fe80::1%eth0]:80"}) {
    INFO(text);
    const auto place = parse_host_port(text);
    REQUIRE(place);
    CHECK(to_text(*place) == text);
  }
  CHECK(parse_host_port("[fd00::1]:4000")->host == "fd00::1");
  CHECK(parse_host_port("host:0080")->port == 80);
  for (const char* text : {"", ":", "host", "host:", ":80", "host:0", "host:65536", "host:-1",
                           "host:8x", "ho st:80", "fd00::1:80", "[host]:80", "[::1:80", "::1]:80"})
    CHECK_FALSE(parse_host_port(text));
}

}  // namespace heddle::base
