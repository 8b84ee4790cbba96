#include "nccl-net-ofi/ofi_variables.hpp"

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "base/settings.hpp"
#include "catch.hpp"

namespace heddle::nccl_net {
namespace {

OfiSettings read(const std::vector<std::string>& environment) {
  std::vector<const char*> pointers;
  for (const auto& entry : environment) pointers.push_back(entry.c_str());
  pointers.push_back(nullptr);
  return read_ofi_variables(pointers.data());
}

std::string overrides(const std::string& entry) { return read({"OFI_NCCL_" + entry}).overrides; }

}  // namespace

TEST_CASE("what has a meaning here is passed on") {
  CHECK(overrides("PROTOCOL=SENDRECV") == "HEDDLE_RMA=0");
  CHECK(overrides("PROTOCOL=rdma") == "HEDDLE_RMA=1");
  CHECK(overrides("EXCLUDE_TCP_IF=lo,docker0") == "HEDDLE_IFACE=^lo,docker0");
  CHECK(overrides("EXCLUDE_TCP_IF=,eth1,") == "HEDDLE_IFACE=^eth1");
  CHECK(overrides("EAGER_MAX_SIZE=-1") == "HEDDLE_EAGER_BYTES=0");
  CHECK(overrides("EAGER_MAX_SIZE=4096") == "HEDDLE_EAGER_BYTES=4096");
  CHECK(overrides("EAGER_MAX_SIZE=99999999") == "HEDDLE_EAGER_BYTES=65536");
  CHECK(overrides("FORCE_NUM_RAILS=1") == "HEDDLE_NCCL_DEVICES=each");
}

TEST_CASE("each that is set is told, once") {
  const OfiSettings both = read({"OFI_NCCL_PROTOCOL=RDMA", "PATH=/bin", "OFI_NCCL_CQ_SIZE=9"});
  CHECK(both.overrides == "HEDDLE_RMA=1");
  CHECK(both.lines ==
        std::vector<std::string>{
            "OFI_NCCL_CQ_SIZE=9 is ignored: Heddle sizes its queues and buffers by itself",
            "OFI_NCCL_PROTOCOL=RDMA is understood as HEDDLE_RMA=1"});
  CHECK(read({"OFI_NCCL_NEW_THING=1"}).lines ==
        std::vector<std::string>{"OFI_NCCL_NEW_THING=1 is not known and is ignored"});
  CHECK(read({"OFI_NCCL_PROTOCOL=", "OFI_NCCL=1", "HEDDLE_RMA=0"}).lines.empty());
}

TEST_CASE("values that say nothing are ignored, with the reason") {
  for (const char* entry :
       {"PROTOCOL=UDP", "EXCLUDE_TCP_IF=,", "EXCLUDE_TCP_IF=a b", "EAGER_MAX_SIZE=big",
        "EAGER_MAX_SIZE=-2", "FORCE_NUM_RAILS=2", "FORCE_NUM_RAILS=0"}) {
    const OfiSettings one = read({std::string("OFI_NCCL_") + entry});
    CHECK(one.overrides.empty());
    REQUIRE(one.lines.size() == 1);
    CHECK_THAT(one.lines[0], Catch::Matchers::Contains(" is ignored: "));
  }
}

TEST_CASE("a setting of Heddle's own wins") {
  const OfiSettings both = read({"OFI_NCCL_PROTOCOL=SENDRECV", "HEDDLE_RMA=1"});
  CHECK(both.overrides.empty());
  CHECK(both.lines ==
        std::vector<std::string>{"OFI_NCCL_PROTOCOL=SENDRECV is ignored: HEDDLE_RMA is set"});
}

TEST_CASE("every meaning is a setting that is taken, and names are there once") {
  std::set<std::string_view> names;
  for (const auto& variable : ofi_variables()) {
    INFO(variable.name);
    CHECK(names.insert(variable.name).second);
    CHECK_FALSE(variable.ignored_because.empty());
  }
  for (const char* entry :
       {"PROTOCOL=RDMA", "EXCLUDE_TCP_IF=lo", "EAGER_MAX_SIZE=99999999", "FORCE_NUM_RAILS=1"}) {
    std::vector<std::string> warnings;
    base::load_settings(nullptr, overrides(entry), warnings);
    CHECK(warnings.empty());
  }
}

// One item of a list for each way to treat variables.
TEST_CASE("docs/nccl.md says of each variable what the table says") {
  std::ifstream file(HEDDLE_NCCL_PAGE);
  std::string page{std::istreambuf_iterator<char>(file), {}};
  page = std::regex_replace(page, std::regex("\n  +"), " ");  // items in one line each
  std::map<std::string, std::string> items;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string line = page.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("- `OFI_NCCL_")) continue;
    const std::regex name("`OFI_NCCL_(\\w+)`");
    for (std::sregex_iterator found(line.begin(), line.end(), name), none; found != none; ++found)
      items[(*found)[1]] = line;
  }
  for (const OfiVariable& variable : ofi_variables()) {
    INFO("OFI_NCCL_" << variable.name);
    const auto item = items.find(std::string(variable.name));
    REQUIRE(item != items.end());
    const std::string_view says =
        variable.meaning != nullptr ? "HEDDLE_" : variable.ignored_because;
    CHECK(item->second.find(says) != std::string::npos);
    items.erase(item);
  }
  for (const auto& [name, line] : items) FAIL_CHECK("there is no variable OFI_NCCL_" << name);
}

}  // namespace heddle::nccl_net
