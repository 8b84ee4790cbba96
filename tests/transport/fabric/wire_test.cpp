// Formats of the wire: addresses, seals, credits.
#include "transport/fabric/wire.hpp"

#include "base/error.hpp"
#include "catch.hpp"

using namespace heddle;
using namespace heddle::transport::fabric;

TEST_CASE("a process's address survives its text") {
  ProcessAddress address;
  address.provider = "tcp;ofi_rxm";
  address.protocol = "FI_PROTO_RXM";
  address.rma = true;
  address.instance = 0xfedcba9876543210;
  address.host = "node-1";
  address.pid = 4711;
  address.rails = {{{0, 1, 0xff, 16}, "eth0", "0a4d0100/24", 2.5, 3}, {{2, 0}, "e1", "", 0, 0}};
  const ProcessAddress back = parse_address(to_text(address));
  CHECK(back.provider == address.provider);
  CHECK(back.protocol == address.protocol);
  CHECK(back.rma);
  CHECK(back.instance == address.instance);
  CHECK(back.host == address.host);
  CHECK(back.pid == address.pid);
  CHECK(back.rails == address.rails);
}

TEST_CASE("a text that is no address is refused") {
  ProcessAddress address;
  address.provider = "tcp";
  address.protocol = "p";
  address.host = "h";
  address.rails = {{{1, 2, 3}, "eth0", "", 0, 0}};
  const std::string good = to_text(address);
  CHECK_NOTHROW(parse_address(good));
  for (const std::string& bad :
       {std::string(), std::string("x"), "y" + good, good + "0", good + "zz", good + " pid=3",
        good.substr(0, good.size() - 1), good.substr(0, good.find(" rails")),
        std::string(good).replace(good.find("path=message"), 12, "path=pigeons")}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_address(bad), base::Error);
  }
}

TEST_CASE("a seal holds for its secret and its content only") {
  transport::PipeSecret secret{1}, other{2};
  Hello hello{};
  hello.from = 3;
  seal(hello, secret);
  CHECK(sealed_by(hello, secret));
  CHECK_FALSE(sealed_by(hello, other));
  hello.to = 1;
  CHECK_FALSE(sealed_by(hello, secret));
  Welcome welcome{};
  seal(welcome, secret);
  CHECK(sealed_by(welcome, secret));
  welcome.nonce[3] ^= 1;
  CHECK_FALSE(sealed_by(welcome, secret));
}

TEST_CASE("a credit carries one key a rail") {
  Credit credit{0x1122334455667788, 1ull << 40, {}};
  for (int i = 0; i < kMaxRails; ++i) credit.keys[i] = 1000 + i;
  std::array<std::byte, credit_bytes(kMaxRails)> bytes;
  for (const int rails : {1, 4, kMaxRails}) {
    CHECK(encode(credit, rails, bytes.data()) == credit_bytes(rails));
    const Credit back = decode_credit(bytes.data(), rails);
    CHECK(back.address == credit.address);
    CHECK(back.bytes == credit.bytes);
    for (int i = 0; i < rails; ++i) CHECK(back.keys[i] == credit.keys[i]);
  }
}
