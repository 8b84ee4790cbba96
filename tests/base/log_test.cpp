// Where log lines go: standard error, a file, the log of a program around us.
#include "base/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "catch.hpp"
#include "support/temporary_folder.hpp"

namespace heddle::base {
namespace {

using Catch::Matchers::Contains;

std::vector<std::string> seen;
void keep(LogLevel level, std::string_view text) {
  seen.push_back(fmt::format("{} {}", static_cast<int>(level), text));
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What `attempt` writes to standard error.
template <typename Attempt>
std::string on_standard_error(const std::string& path, Attempt attempt) {
  const UniqueFd before(dup(STDERR_FILENO));
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  REQUIRE(dup2(file.get(), STDERR_FILENO) == STDERR_FILENO);
  attempt();
  dup2(before.get(), STDERR_FILENO);
  return contents(path);
}

}  // namespace

TEST_CASE("a sink takes lines in place of standard error, and gives them back") {
  const test::TemporaryFolder folder;
  const std::string errors = on_standard_error(folder.path() + "/errors", [] {
    configure_log(LogLevel::info, "");
    set_log_sink(keep);
    log_warn("to {}", "the sink");
    log_debug("to nobody");
    set_log_sink(nullptr);
    log_info("to standard error");
  });
  configure_log(LogLevel::warn, "");
  CHECK(seen == std::vector<std::string>{"2 to the sink"});
  CHECK_THAT(errors, Contains("HEDDLE INFO to standard error") && !Contains("the sink"));
  seen.clear();
}

TEST_CASE("a file that somebody asked for gets what a sink takes") {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() + "/log";
  configure_log(LogLevel::warn, file);
  set_log_sink(keep);
  log_warn("twice");
  set_log_sink(nullptr);
  configure_log(LogLevel::warn, "");
  CHECK(seen == std::vector<std::string>{"2 twice"});
  CHECK_THAT(contents(file), Contains("HEDDLE WARN twice"));
  seen.clear();
}

}  // namespace heddle::base
