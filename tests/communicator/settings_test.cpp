// Case settings-table, the half that runs: whatever value a setting takes, the data is exact.
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "catch.hpp"
#include "collectives/schedule.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

struct Odd {
  std::string name;
  std::vector<std::string> values;  // besides those that are tried with every name
};

const std::vector<Odd> kOdd = {
    {"HEDDLE_CHANNELS", {"1", "2", "3", "16", "17"}},
    {"HEDDLE_SLOTS", {"4", "5", "63", "64", "65", "3"}},
    {"HEDDLE_SLOT_BYTES", {"4K", "4097", "5000", "65537", "1M", "16M", "17M"}},
    {"HEDDLE_EAGER_BYTES", {"1", "63", "64K", "65535", "65537"}},
    {"HEDDLE_SPIN", {"1", "1000", "1000000"}},
    {"HEDDLE_SHM", {"1", "on", "off", "no", "true"}},
    {"HEDDLE_RMA", {"1", "on", "off", "no", "true"}},
    {"HEDDLE_CHECK", {"1", "on", "off", "no", "true"}},
    {"HEDDLE_ALGO", {"auto", "ring", "bruck", "hierarchical", "rings", "hierarchical:ring"}},
    // Less than seconds would be a test of how busy the machine is.
    {"HEDDLE_TIMEOUT", {"20", "1e6", "1000000.0", "1e7"}},
};
// Of case settings-table; settings of a communicator are words, so none has spaces.
const std::vector<std::string> kEveryName = {
    "abc", "10x", "-1", "0", "0x10", "8M", "18446744073709551616", "TRUE", "nan", "1e400"};

bool accepted(const std::string& name, const std::string& value) {
  // The table takes any text here; the communicator knows the names.
  if (name == "HEDDLE_ALGO") return value == "auto" || collectives::algorithm_named(value);
  base::Settings settings;
  for (const auto& row : base::settings_table())
    if (row.name == name) return row.parse(settings, value);
  FAIL(name << " is not a setting");
  return false;
}

void reduce(Communicator& communicator, int rank) {
  constexpr std::size_t kCount = 100003;
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    values[i] = static_cast<float>(i % 5000 + 7 * static_cast<std::size_t>(rank));
  communicator.all_reduce(values, Op::sum);
  for (std::size_t i = 0; i < kCount; ++i)
    if (values[i] != static_cast<float>(2 * (i % 5000) + 7))
      expect(false, "element " + std::to_string(i) + " is " + std::to_string(values[i]));
}

}  // namespace

TEST_CASE("settings-table: any accepted value gives exact data") {
  int runs = 0;
  for (const auto& odd : kOdd) {
    std::vector<std::string> values = odd.values;
    values.insert(values.end(), kEveryName.begin(), kEveryName.end());
    for (const auto& value : values) {
      if (!accepted(odd.name, value)) continue;
      const std::string setting = odd.name + "=" + value;
      if (odd.name != "HEDDLE_SHM") run_ranks(2, reduce, "HEDDLE_SHM=1 " + setting);
      run_ranks(2, reduce, "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp " + setting);
      ++runs;
    }
  }
  CHECK(runs >= 40);  // else nothing was accepted, and nothing tested
}

TEST_CASE("settings-table: a value that is not accepted joins nobody") {
  const UniqueId id = UniqueId::make();
  for (const auto& odd : kOdd) {
    std::vector<std::string> values = odd.values;
    values.insert(values.end(), kEveryName.begin(), kEveryName.end());
    for (const auto& value : values) {
      if (accepted(odd.name, value)) continue;
      const std::string setting = odd.name + "=" + value;
      INFO(setting);
      heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
      config.settings = setting.c_str();
      heddleComm_t comm = nullptr;
      CHECK(heddleCommInitRankConfig(&comm, 2, id.get(), 0, &config) == heddleInvalidArgument);
      CHECK(comm == nullptr);
      CHECK_THAT(std::string(heddleGetLastError(nullptr)), Catch::Matchers::Contains(setting));
    }
  }
}

}  // namespace heddle::test
