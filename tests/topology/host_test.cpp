#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "catch.hpp"
#include "topology/host.hpp"

using namespace heddle;
using topology::this_host;

namespace {

// The host id that a child process finds after `enter`; "" when `enter` says no.
std::string id_in_child(const std::function<bool()>& enter) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  base::UniqueFd reader(ends[0]);
  base::UniqueFd writer(ends[1]);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (!enter()) _exit(0);
    const std::string id = this_host({}).id;
    _exit(write(writer.get(), id.data(), id.size()) == static_cast<ssize_t>(id.size()) ? 0 : 1);
  }
  writer.reset();
  std::array<char, 64> buffer{};
  const ssize_t got = read(reader.get(), buffer.data(), buffer.size());
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return {buffer.data(), static_cast<std::size_t>(got)};
}

}  // namespace

TEST_CASE("a host knows its id and name") {
  const auto host = this_host({});
  CHECK(host.id.size() == 16);
  CHECK(host.id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(!host.name.empty());
  CHECK(this_host({}).id == host.id);
}

TEST_CASE("two processes of one host agree") {
  CHECK(id_in_child([] { return true; }) == this_host({}).id);
}

TEST_CASE("another network namespace is another host") {
  const std::string id = id_in_child([] { return unshare(CLONE_NEWNET) == 0; });
  if (id.empty()) {
    WARN("SKIPPED: this user may not make a network namespace");
    return;
  }
  CHECK(id != this_host({}).id);
}

TEST_CASE("another host name is another host") {
  const std::string id =
      id_in_child([] { return unshare(CLONE_NEWUTS) == 0 && sethostname("other", 5) == 0; });
  if (id.empty()) {
    WARN("SKIPPED: this user may not make a UTS namespace");
    return;
  }
  CHECK(id != this_host({}).id);
}

TEST_CASE("HEDDLE_HOSTID replaces the identity and keeps the name") {
  base::Settings a;
  a.host_id = "a";
  base::Settings b;
  b.host_id = "b";
  CHECK(this_host(a).id != this_host(b).id);
  CHECK(this_host(a).id != this_host({}).id);
  CHECK(this_host(a).id == this_host(a).id);
  CHECK(this_host(a).name == this_host({}).name);
  b.host_id = this_host({}).id;
  CHECK(this_host(b).id != this_host({}).id);  // a found id cannot be chosen by accident
}

TEST_CASE("equally many ranks on each host, one host's after another's") {
  using Hosts = std::vector<std::string>;
  const auto of = [](const Hosts& hosts) { return topology::even_ranks_per_host(hosts); };
  CHECK(of({"a"}) == 1);
  CHECK(of({"a", "a", "a"}) == 3);
  CHECK(of({"a", "b", "c"}) == 1);
  CHECK(of({"a", "a", "b", "b"}) == 2);
  CHECK(of({"a", "a", "b"}) == 0);
  CHECK(of({"a", "a", "b", "c"}) == 0);
  CHECK(of({"a", "b", "a", "b"}) == 0);
  CHECK(of({"a", "b", "b", "a"}) == 0);
  CHECK(of({"a", "a", "b", "b", "a", "a"}) == 0);
}
