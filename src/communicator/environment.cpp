#include "communicator/environment.hpp"

#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"
#include "base/text.hpp"

namespace heddle::communicator {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* ranks;
  const char* local_ranks;  // how many ranks are on this host; null: not said
  const char* job;          // names the job; null: not said
  const char* step;         // of a job that may run several worlds at once; null: it runs one
};

// The first whose rank and size are both set wins. torchrun inside mpirun or srun describes the
// inner world, so it comes first.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID", nullptr},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "PMIX_NAMESPACE", nullptr},
    {"hydra (PMI)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", nullptr, nullptr},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE", "SLURM_JOB_ID",
     "SLURM_STEP_ID"},
};

int number(const GetVariable& get, const char* name, int low, int high) {
  const std::string text = get(name).value_or("");
  int value = 0;
  if (!base::parse_number(text, value) || value < low || value > high)
    base::fail(heddleInvalidArgument, "{}={}: allowed is {} to {}", name, text, low, high);
  return value;
}

void find_root(const GetVariable& get, const base::Settings& settings, LaunchedRank& launched) {
  if (!settings.root.empty()) {
    launched.root = base::parse_host_port(settings.root);
    launched.root_said_by = "HEDDLE_ROOT=" + settings.root;
    return;
  }
  const auto address = get("MASTER_ADDR");
  if (!address || address->empty()) return;
  // torchrun's own store listens on MASTER_PORT itself.
  const int port = number(get, "MASTER_PORT", 1, 65534);
  const base::HostPort root{*address, static_cast<std::uint16_t>(port + 1)};
  if (!base::parse_host_port(base::to_text(root)))
    base::fail(heddleInvalidArgument, "MASTER_ADDR={}: allowed is a host's name or address",
               *address);
  launched.root = root;
  launched.root_said_by = fmt::format("MASTER_PORT={}", port);
}

}  // namespace

std::optional<std::string> get_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

LaunchedRank read_environment(const GetVariable& get, const base::Settings& settings) {
  for (const auto& launcher : kLaunchers) {
    const bool has_rank = get(launcher.rank).has_value();
    const bool has_ranks = get(launcher.ranks).has_value();
    if (!has_ranks) continue;
    if (!has_rank) {
      // SLURM_NTASKS alone is an allocation, not a launch.
      if (std::string_view(launcher.name) == "Slurm" &&
          number(get, launcher.ranks, 1, 1 << 20) == 1)
        continue;
      base::fail(heddleInvalidUsage,
                 "launcher says {} ({}={}), this process sees 1: {} is not set, so it was not "
                 "started as one of them",
                 get(launcher.ranks).value_or(""), launcher.ranks, get(launcher.ranks).value_or(""),
                 launcher.rank);
    }
    LaunchedRank launched;
    launched.launcher = launcher.name;
    launched.ranks = number(get, launcher.ranks, 1, 1 << 20);
    launched.rank = number(get, launcher.rank, 0, launched.ranks - 1);
    find_root(get, settings, launched);
    launched.one_host = launcher.local_ranks != nullptr && get(launcher.local_ranks).has_value() &&
                        get(launcher.local_ranks) == get(launcher.ranks);
    // Ranks of one host have the same parent: mpirun, its daemon or torchrun's agent.
    launched.job = fmt::format("{} {}", launcher.name, getppid());
    if (launcher.job != nullptr && get(launcher.job)) launched.job = *get(launcher.job);
    if (launcher.step != nullptr && get(launcher.step)) launched.job += "." + *get(launcher.step);
    return launched;
  }
  LaunchedRank alone;
  alone.launcher = "none";
  return alone;
}

}  // namespace heddle::communicator
