// What each launcher's variables say of the world.
#include "communicator/environment.hpp"

#include <map>
#include <string>

#include "base/error.hpp"
#include "catch.hpp"
#include "support/base_errors.hpp"

namespace heddle::communicator {
namespace {

using Catch::Matchers::Contains;
using Variables = std::map<std::string, std::string>;

LaunchedRank read(const Variables& variables, const std::string& root = {}) {
  base::Settings settings;
  settings.root = root;
  const auto get = [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return read_environment(get, settings);
}

// The error of an environment that is refused, with its code.
std::string error_of(const Variables& variables, heddleResult_t code = heddleInvalidArgument) {
  return test::error_of([&] { read(variables); }, code);
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"TORCHELASTIC_RUN_ID", "run"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "29500"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"PMIX_NAMESPACE", "space"}};
const Variables kHydra = {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALNRANKS", "3"}};
const Variables kSlurm = {{"SLURM_PROCID", "5"},
                          {"SLURM_NTASKS", "6"},
                          {"SLURM_TASKS_PER_NODE", "3(x2)"},
                          {"SLURM_JOB_ID", "77"},
                          {"SLURM_STEP_ID", "2"}};

Variables with(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

}  // namespace

TEST_CASE("no launcher is a world of one") {
  for (const Variables& variables : {Variables{}, Variables{{"RANK", "3"}, {"PMI_RANK", "1"}},
                                     Variables{{"SLURM_NTASKS", "1"}, {"SLURM_JOB_ID", "7"}}}) {
    const LaunchedRank alone = read(variables);
    CHECK(alone.launcher == "none");
    CHECK(alone.rank == 0);
    CHECK(alone.ranks == 1);
  }
}

TEST_CASE("torchrun") {
  const LaunchedRank found = read(kTorchrun);
  CHECK(found.launcher == "torchrun");
  CHECK(found.rank == 3);
  CHECK(found.ranks == 8);
  CHECK_FALSE(found.one_host);
  CHECK(found.job == "run");
  REQUIRE(found.root);
  CHECK(base::to_text(*found.root) == "node0:29501");  // torchrun itself listens on 29500
  CHECK(found.root_said_by == "MASTER_PORT=29500");
  CHECK(read(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "8"}})).one_host);
  CHECK(base::to_text(*read(with(kTorchrun, {{"MASTER_ADDR", "fd00::1"}})).root) ==
        "[fd00::1]:29501");
}

TEST_CASE("Open MPI") {
  const LaunchedRank found = read(kOpenMpi);
  CHECK(found.launcher == "Open MPI");
  CHECK(found.rank == 1);
  CHECK(found.ranks == 4);
  CHECK(found.one_host);
  CHECK(found.job == "space");
  CHECK_FALSE(found.root);
  CHECK_FALSE(read(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}})).one_host);
}

TEST_CASE("hydra") {
  const LaunchedRank found = read(kHydra);
  CHECK(found.launcher == "hydra (PMI)");
  CHECK(found.rank == 2);
  CHECK(found.ranks == 3);
  CHECK(found.one_host);
  CHECK_FALSE(found.job.empty());  // of the process that started all
  CHECK_FALSE(read(without(kHydra, "MPI_LOCALNRANKS")).one_host);
}

TEST_CASE("Slurm") {
  const LaunchedRank found = read(kSlurm);
  CHECK(found.launcher == "Slurm");
  CHECK(found.rank == 5);
  CHECK(found.ranks == 6);
  CHECK_FALSE(found.one_host);
  CHECK(read(with(kSlurm, {{"SLURM_TASKS_PER_NODE", "6"}})).one_host);
  // Two steps of one job may run at once.
  CHECK(found.job != read(with(kSlurm, {{"SLURM_STEP_ID", "3"}})).job);
  CHECK(found.job != read(with(kSlurm, {{"SLURM_JOB_ID", "78"}})).job);
}

TEST_CASE("the inner launcher counts") {
  const Variables both = with(kSlurm, kOpenMpi);
  CHECK(read(both).launcher == "Open MPI");
  CHECK(read(with(both, kTorchrun)).launcher == "torchrun");
}

TEST_CASE("HEDDLE_ROOT comes before the launcher's address") {
  for (const Variables& variables : {kTorchrun, kOpenMpi, kHydra, kSlurm}) {
    const LaunchedRank found = read(variables, "[fd00::2]:65535");
    REQUIRE(found.root);
    CHECK(found.root->host == "fd00::2");
    CHECK(found.root->port == 65535);
    CHECK(found.root_said_by == "HEDDLE_ROOT=[fd00::2]:65535");
  }
}

TEST_CASE("launcher-mismatch: a size without a rank") {
  for (const auto& [size, rank] : Variables{{"WORLD_SIZE", "RANK"},
                                            {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                            {"PMI_SIZE", "PMI_RANK"},
                                            {"SLURM_NTASKS", "SLURM_PROCID"}}) {
    const std::string error = error_of({{size, "4"}}, heddleInvalidUsage);
    CHECK_THAT(error, Contains("launcher says 4 (" + size + "=4), this process sees 1"));
    CHECK_THAT(error, Contains(rank + " is not set"));
  }
}

TEST_CASE("a variable that cannot be is named with its value") {
  CHECK_THAT(error_of(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "4"}})),
             Contains("OMPI_COMM_WORLD_RANK=4: allowed is 0 to 3"));
  for (const char* size : {"", "0", "-1", "4x", " 4", "2000000"})
    CHECK_THAT(error_of(with(kHydra, {{"PMI_SIZE", size}})),
               Contains(std::string("PMI_SIZE=") + size + ": allowed is 1 to "));
  for (const char* port : {"", "0", "65535", "1K", "-1"})
    CHECK_THAT(error_of(with(kTorchrun, {{"MASTER_PORT", port}})),
               Contains(std::string("MASTER_PORT=") + port + ": allowed is 1 to 65534"));
  for (const char* address : {"a b", "[fd00::1]"})
    CHECK_THAT(error_of(with(kTorchrun, {{"MASTER_ADDR", address}})),
               Contains(std::string("MASTER_ADDR=") + address));
}

}  // namespace heddle::communicator
