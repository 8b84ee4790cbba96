#include "nccl-net-ofi/logging.hpp"

#include "catch.hpp"
#include "drive.hpp"

namespace heddle::nccl_net {
namespace {

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("NCCL's logger gets what Heddle says, with one prefix") {
  adopt_logger(testing::logger);
  configure_logging({});
  testing::logged();
  base::log_warn("a warning");
  base::log_info("NET/OFI a line");
  base::log_debug("too much");
  {
    const std::lock_guard lock(testing::log_mutex);
    REQUIRE(testing::log_lines.size() == 2);
    CHECK(testing::log_lines[0].flags == (nccl_abi::kLogInit | nccl_abi::kLogNet));
  }
  CHECK(testing::logged() == "WARN NET/OFI a warning\nINFO NET/OFI a line\n");
  drop_logger();
}

TEST_CASE("a failure that comes again is not said again") {
  adopt_logger(testing::logger);
  configure_logging({});
  testing::logged();
  report_failure("isend", "one %s thing");
  report_failure("isend", "one %s thing");
  CHECK(testing::logged() == "WARN NET/OFI isend: one %s thing\n");
  report_failure("irecv", "another");
  report_failure("isend", "one %s thing");
  CHECK(testing::logged() == "WARN NET/OFI irecv: another\nWARN NET/OFI isend: one %s thing\n");
  drop_logger();
}

TEST_CASE("HEDDLE_LOG wins over what NCCL would show") {
  adopt_logger(testing::logger);
  std::vector<std::string> warnings;
  const char* const environment[] = {"HEDDLE_LOG=warn", nullptr};
  configure_logging(base::load_settings(environment, "", warnings));
  testing::logged();
  base::log_info("quiet");
  base::log_warn("loud");
  CHECK(testing::logged() == "WARN NET/OFI loud\n");
  drop_logger();
}

TEST_CASE("which values of NCCL_DEBUG show warnings") {
  for (const char* shows : {"WARN", "warn", "INFO", "Trace", "ABORT"}) CHECK(shows_warnings(shows));
  for (const char* hides : {"VERSION", "", "NONE", "WARNING"}) CHECK_FALSE(shows_warnings(hides));
  CHECK_FALSE(shows_warnings(nullptr));
}

TEST_CASE("what a start that fails means") {
  CHECK_THAT(no_start_line("why", nullptr),
             Contains("Heddle cannot start: why. NCCL goes on with its own sockets") &&
                 Contains("NCCL_NET=Heddle makes this an error"));
  CHECK_THAT(no_start_line("why", "Socket"), Contains("goes on"));
  CHECK_THAT(no_start_line("why", "heddle"), Contains("NCCL stops") && !Contains("goes on"));
}

}  // namespace heddle::nccl_net
