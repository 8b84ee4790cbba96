// Case settings-table, the half that runs: whatever value a setting takes, the data is exact or an
// error names the setting.
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "catch.hpp"
#include "collectives/schedule.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

// Besides those that are tried with every name.
const std::map<std::string_view, std::vector<std::string>> kOdd = {
    {"HEDDLE_CHANNELS", {"1", "2", "3", "16", "17"}},
    {"HEDDLE_SLOTS", {"4", "5", "63", "64", "65", "3"}},
    {"HEDDLE_SLOT_BYTES", {"4K", "4097", "5000", "65537", "1M", "16M", "17M"}},
    {"HEDDLE_EAGER_BYTES", {"1", "63", "64K", "65535", "65537"}},
    {"HEDDLE_SPIN", {"1", "1000", "1000000"}},
    {"HEDDLE_SHM", {"1", "on", "off", "no", "true"}},
    {"HEDDLE_RMA", {"1", "on", "off", "no", "true"}},
    {"HEDDLE_CHECK", {"1", "on", "off", "no", "true"}},
    {"HEDDLE_ALGO", {"auto", "ring", "bruck", "hierarchical", "rings", "hierarchical:ring"}},
    {"HEDDLE_LOG", {"none", "error", "warning", "INFO"}},
    {"HEDDLE_PROVIDER", {"auto", "TCP", "tcp;"}},
    {"HEDDLE_RAILS", {"all", "1", "999", ",", "all,all"}},
    {"HEDDLE_IFACE", {"^", ",", "^nosuch0"}},
    {"HEDDLE_ROOT", {"host:0", "host:1", "host:65536", "fd00::1"}},
    {"HEDDLE_NCCL_DEVICES", {"auto", "each", "all", "ALL", "every"}},
    {"HEDDLE_NCCL_MAX_RECVS", {"1", "8", "9"}},
    {"HEDDLE_RAIL_TIMEOUT", {"0.01", "2", "1e6", "1e7"}},
    // Less than seconds would be a test of how busy the machine is.
    {"HEDDLE_TIMEOUT", {"20", "1e6", "1000000.0", "1e7"}},
    {"HEDDLE_INIT_TIMEOUT", {"20", "1e6", "1000000.0", "1e7"}},
};
// Of case settings-table; settings of a communicator are words, so none has spaces.
const std::vector<std::string> kEveryName = {
    "abc", "10x", "-1", "0", "0x10", "8M", "18446744073709551616", "TRUE", "nan", "1e400"};

bool accepted(const base::SettingRow& row, const std::string& value) {
  // The table takes any text here; the communicator knows the names.
  if (row.name == "HEDDLE_ALGO") return value == "auto" || collectives::algorithm_named(value);
  base::Settings settings;
  return row.parse(settings, value);
}

std::vector<std::string> odd_values(const base::SettingRow& row) {
  std::vector<std::string> values;
  if (const auto odd = kOdd.find(row.name); odd != kOdd.end()) values = odd->second;
  // Where any text will do, a few say as much as all.
  const bool any_text = accepted(row, "abc") && accepted(row, "1e400");
  values.insert(values.end(), kEveryName.begin(),
                any_text ? kEveryName.begin() + 3 : kEveryName.end());
  return values;
}

// Some values are names of files, which lie in a folder that goes away.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / ("settings." + std::to_string(getpid()))),
        before_(std::filesystem::current_path()) {
    std::filesystem::create_directory(path_);
    std::filesystem::current_path(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(path_);
  }

 private:
  std::filesystem::path path_, before_;
};

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

TEST_CASE("settings-table: any accepted value gives exact data, or an error names the setting") {
  const Folder folder;
  for (const auto& row : base::settings_table()) {
    int exact = 0;
    int tried = 0;
    for (const auto& value : odd_values(row)) {
      if (!accepted(row, value)) continue;
      ++tried;
      const std::string setting = std::string(row.name) + "=" + value;
      for (const std::string carrier : kCarriers) {
        // Of two values the last counts: the setting's own.
        const std::string settings = carrier + " HEDDLE_INIT_TIMEOUT=20 " + setting;
        for (const auto& error : errors_of_ranks(2, reduce, settings)) {
          INFO(settings);
          if (!error.empty()) CHECK_THAT(error, Catch::Matchers::Contains(setting));
          exact += error.empty() ? 1 : 0;
        }
      }
    }
    INFO(row.name << ": " << tried << " values were accepted");
    CHECK(tried > 0);  // else nothing was tested
    // A made-up file is none of these.
    const bool made_up = row.name == "HEDDLE_SCHEDULE" || row.name == "HEDDLE_TUNING_FILE";
    CHECK((exact > 0) != made_up);
  }
}

TEST_CASE("settings-table: a value that is not accepted joins nobody") {
  const UniqueId id = UniqueId::make();
  for (const auto& row : base::settings_table())
    for (const auto& value : odd_values(row)) {
      if (accepted(row, value)) continue;
      const std::string setting = std::string(row.name) + "=" + value;
      INFO(setting);
      heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
      config.settings = setting.c_str();
      heddleComm_t comm = nullptr;
      CHECK(heddleCommInitRankConfig(&comm, 2, id.get(), 0, &config) == heddleInvalidArgument);
      CHECK(comm == nullptr);
      CHECK_THAT(std::string(heddleGetLastError(nullptr)), Catch::Matchers::Contains(setting));
    }
}

}  // namespace heddle::test
