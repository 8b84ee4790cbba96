#include "harness/launch.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "harness/benchmark.hpp"
#include "harness/local_ranks.hpp"
#include "heddle/mpi.hpp"

namespace heddle::bench {
namespace {

constexpr int kDefaultRanks = 2;

using Body = std::function<int(Control&, const Join&)>;

int status_of(const Error& error) {
  switch (error.code()) {
    case heddleTimeout: return kTimedOut;
    case heddleInvalidUsage: return kInvalidUsage;
    case heddleInternalError: return kInternalError;
    default: return kLibraryError;
  }
}

// Runs `run`, which returns an exit status; tells standard error what it threw.
template <typename Run>
int guarded(std::string_view program, Control& control, Run run) {
  const auto tell = [&](const std::exception& error) {
    if (control.is_news(error.what()))
      fmt::print(stderr, "{}: rank {}: {}\n", program, control.rank(), error.what());
  };
  try {
    return run();
  } catch (const Error& error) {
    tell(error);
    return status_of(error);
  } catch (const std::exception& error) {
    tell(error);
    return kInternalError;
  }
}

int run_under_mpi(std::string_view program, int ranks, const Body& body,
                  const detail::LauncherClaim& claim) {
  MPI_Init(nullptr, nullptr);
  const auto control = mpi_control();
  const int world = control->ranks();
  const int status = guarded(program, *control, [&] {
    detail::check_launcher(claim, world);
    if (ranks > 1)
      throw Error(heddleInvalidUsage,
                  fmt::format("-g {} under a launcher ({}={}): its processes are the ranks; "
                              "allowed: -g 1",
                              ranks, claim.variable, claim.ranks));
    return body(*control, join_by_mpi);
  });
  // Other ranks may wait for one that failed; wrong data is known to all of them.
  if (status != 0 && status != kWrongData && world > 1) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return status;
}

int run_forked(std::string_view program, int ranks, const Body& body) {
  return run_local_ranks(ranks > 0 ? ranks : kDefaultRanks, [&](Control& control) {
    return guarded(program, control, [&] {
      const int status =
          body(control, [&](const Options& options) { return join_by_id(options, control); });
      return control.rank() == 0 ? status : 0;  // one rank's word is enough
    });
  });
}

}  // namespace

int launch(std::string_view program, int ranks, const Body& body) {
  // MPI and libfabric may load libraries that catch signals and hide crashes unless told not to.
  setenv("IPATH_NO_BACKTRACE", "1", 0);
  setenv("HFI_NO_BACKTRACE", "1", 0);
  const detail::LauncherClaim claim = detail::launcher_claim();
  // SLURM_NTASKS also stands in a job's own shell, where -g says that nobody else was started.
  const bool job_shell =
      claim.variable == "SLURM_NTASKS" && std::getenv("SLURM_STEP_ID") == nullptr;
  if (claim.ranks > 0 && !(job_shell && ranks > 0))
    return run_under_mpi(program, ranks, body, claim);
  return run_forked(program, ranks, body);
}

}  // namespace heddle::bench
