#include <map>
#include <string>

#include "bench/text.hpp"
#include "catch.hpp"
#include "heddle/mpi.hpp"

namespace {

heddle::detail::LauncherClaim claim_of(const std::map<std::string, std::string>& environment) {
  return heddle::detail::launcher_claim([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_CASE("launchers are known by their variables") {
  CHECK(claim_of({}).ranks == 0);
  CHECK(claim_of({{"OMPI_COMM_WORLD_SIZE", "4"}}).ranks == 4);
  CHECK(claim_of({{"PMI_SIZE", "3"}}).variable == "PMI_SIZE");
  CHECK(claim_of({{"OMPI_COMM_WORLD_SIZE", "many"}}).ranks == 0);
  CHECK(claim_of({{"SLURM_NTASKS", "4"}}).ranks == 4);
  CHECK(claim_of({{"SLURM_NTASKS", "4"}, {"OMPI_COMM_WORLD_SIZE", "1"}}).ranks == 1);
}

TEST_CASE("launcher-mismatch: more promised than seen") {
  CHECK_NOTHROW(heddle::detail::check_launcher({}, 1));
  CHECK_NOTHROW(heddle::detail::check_launcher({"PMI_SIZE", 1}, 1));
  CHECK_NOTHROW(heddle::detail::check_launcher({"PMI_SIZE", 4}, 4));
  try {
    heddle::detail::check_launcher({"PMI_SIZE", 4}, 1);
    FAIL("accepted");
  } catch (const heddle::Error& error) {
    CHECK(error.code() == heddleInvalidUsage);
    CHECK(has(error.what(), "launcher says 4, this process sees 1"));
    CHECK(has(error.what(), "PMI_SIZE=4"));
  }
}
