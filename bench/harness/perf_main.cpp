#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "harness/benchmark.hpp"
#include "harness/local_ranks.hpp"
#include "harness/run_table.hpp"
#include "heddle/mpi.hpp"

namespace heddle::bench {
namespace {

constexpr int kDefaultRanks = 2;

int status_of(const Error& error) {
  switch (error.code()) {
    case heddleTimeout: return kTimedOut;
    case heddleInvalidUsage: return kInvalidUsage;
    case heddleInternalError: return kInternalError;
    default: return kLibraryError;
  }
}

// Runs `body`, which returns an exit status; tells standard error what it threw.
template <typename Body>
int guarded(std::string_view program, int rank, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    fmt::print(stderr, "{}: rank {}: {}\n", program, rank, error.what());
    return status_of(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: rank {}: {}\n", program, rank, error.what());
    return kInternalError;
  }
}

int run_under_mpi(const Benchmark& benchmark, const Options& options, const LauncherClaim& claim) {
  MPI_Init(nullptr, nullptr);
  int world = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int status = guarded(benchmark.name, rank, [&] {
    check_launcher(claim, world);
    if (options.ranks > 1)
      throw Error(heddleInvalidUsage,
                  fmt::format("-g {} under a launcher ({}={}): its processes are the ranks; "
                              "allowed: -g 1",
                              options.ranks, claim.variable, claim.ranks));
    const auto control = mpi_control();
    const auto session = join_by_mpi(options);
    return run_table(benchmark, options, *control, *session);
  });
  // Other ranks may wait for one that failed; wrong data is known to all of them.
  if (status != 0 && status != kWrongData && world > 1) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return status;
}

int run_forked(const Benchmark& benchmark, const Options& options) {
  const int ranks = options.ranks > 0 ? options.ranks : kDefaultRanks;
  return run_local_ranks(ranks, [&](Control& control) {
    return guarded(benchmark.name, control.rank(), [&] {
      const auto session = join_by_id(options, control);
      const int status = run_table(benchmark, options, control, *session);
      return control.rank() == 0 ? status : 0;  // one rank's word is enough
    });
  });
}

}  // namespace

int perf_main(const Benchmark& benchmark, int argc, char** argv) {
  // MPI and libfabric may load libraries that catch signals and hide crashes unless told not to.
  setenv("IPATH_NO_BACKTRACE", "1", 0);
  setenv("HFI_NO_BACKTRACE", "1", 0);
  try {
    const Options options = parse_options(std::string(benchmark.name), {argv + 1, argv + argc});
    const LauncherClaim claim = launcher_claim();
    // SLURM_NTASKS also stands in a job's own shell, where -g says that nobody else was started.
    const bool job_shell =
        claim.variable == "SLURM_NTASKS" && std::getenv("SLURM_STEP_ID") == nullptr;
    if (claim.ranks > 0 && !(job_shell && options.ranks > 0))
      return run_under_mpi(benchmark, options, claim);
    return run_forked(benchmark, options);
  } catch (const Usage& usage) {
    std::fputs(usage.status == 0 ? usage.what()
                                 : fmt::format("{}: {}\n", benchmark.name, usage.what()).c_str(),
               usage.status == 0 ? stdout : stderr);
    return usage.status;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", benchmark.name, error.what());
    return kInternalError;
  }
}

}  // namespace heddle::bench
