#include "communicator/entrance.hpp"

#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "collectives/names.hpp"
#include "communicator/environment.hpp"
#include "communicator/local_meeting.hpp"
#include "communicator/root.hpp"
#include "topology/host.hpp"
#include "topology/interfaces.hpp"

namespace heddle::communicator {
namespace {

// Once, when it is seen: a communicator's own settings may ask for more log than the unique id's.
void log_version() {
  static std::atomic<bool> told{false};
  if (base::log_level() >= base::LogLevel::info && !told.exchange(true))
    base::log_info("Heddle {}.{}.{}", HEDDLE_MAJOR, HEDDLE_MINOR, HEDDLE_PATCH);
}

void warn_once(const std::vector<std::string>& warnings) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  for (const auto& warning : warnings)
    if (told.insert(warning).second) base::log_warn("{}", warning);
}

// The roots of this process by their secrets, while they live. Never destroyed: threads may still
// join while the process ends.
struct OpenRoots {
  std::mutex mutex;
  std::map<Secret, std::weak_ptr<Root>> by_secret;
};
OpenRoots& open_roots() {
  static OpenRoots* const roots = new OpenRoots;
  return *roots;
}

// The only rank of a communicator contacts nobody: a root of this process, if it is one, would wait
// for ranks forever.
void abandon_root(const Secret& secret) {
  const std::lock_guard lock(open_roots().mutex);
  const auto found = open_roots().by_secret.find(secret);
  if (found == open_roots().by_secret.end()) return;
  if (const auto root = found->second.lock()) root->abandon();
  open_roots().by_secret.erase(found);
  ControlService::instance().wake();
}

std::shared_ptr<Root> start_root(const Secret& secret, std::uint16_t port,
                                 const base::Settings& settings) {
  auto root = std::make_shared<Root>(secret, port, topology::this_host(settings).name);
  ControlService::instance().watch(root);
  const std::lock_guard lock(open_roots().mutex);
  std::erase_if(open_roots().by_secret, [](const auto& known) { return known.second.expired(); });
  open_roots().by_secret.emplace(secret, root);
  return root;
}

// The k-th communicator that this process makes from its environment, from 0: the ranks of a job
// make them in the same order.
int next_from_environment() {
  static std::atomic<int> made{0};
  return made.fetch_add(1);
}

std::shared_ptr<Communicator> meet_at(const LaunchedRank& launched, int index,
                                      const base::Settings& settings) {
  constexpr int kLastPort = 65535;
  base::HostPort place = *launched.root;
  if (index > kLastPort - place.port)
    base::fail(heddleInvalidArgument,
               "{}: communicator {} of this process would meet at port {}, allowed is up to {}",
               launched.root_said_by, index + 1, place.port + index, kLastPort);
  place.port = static_cast<std::uint16_t>(place.port + index);
  RootAddress root;
  root.addresses = {base::to_text(place)};
  root.secret = secret_from_text(
      fmt::format("{} {}", settings.secret.empty() ? launched.job : settings.secret, index));
  if (settings.secret.empty())
    base::log_info("HEDDLE_SECRET is not set: ranks prove themselves by the job's name only");
  if (launched.rank == 0) start_root(root.secret, place.port, settings);
  return std::make_shared<Communicator>(root, launched.rank, launched.ranks, settings);
}

std::shared_ptr<Communicator> meet_on_this_host(const LaunchedRank& launched, int index,
                                                const base::Settings& settings) {
  const std::string job = fmt::format("{} {}", launched.job, index);
  std::optional<LocalMeeting> meeting;
  heddleUniqueId id;
  if (launched.rank == 0) {
    id = make_unique_id(settings);
    meeting.emplace(job, id);
  } else {
    id = ask_local_root(job, base::Deadline(base::Seconds(settings.init_timeout)));
  }
  return join_by_id(id, launched.rank, launched.ranks, settings);
}

}  // namespace

base::Settings read_settings(std::string_view overrides) {
  std::vector<std::string> warnings;
  base::Settings settings = base::load_settings(environ, overrides, warnings);
  base::configure_log(settings.log, settings.log_file);
  if (settings.algo != "auto" && collectives::algorithm_named(settings.algo) == nullptr)
    base::fail(heddleInvalidArgument, "HEDDLE_ALGO={}: allowed is auto, {}", settings.algo,
               collectives::known_algorithms());
  log_version();
  warn_once(warnings);
  return settings;
}

heddleUniqueId make_unique_id(const base::Settings& settings) {
  RootAddress address;
  address.secret = random_secret();
  const auto root = start_root(address.secret, 0, settings);
  address.addresses = topology::bootstrap_addresses(settings, root->port());
  base::log_info("ranks meet at {}", address.addresses.front());
  return encode_unique_id(address);
}

std::shared_ptr<Communicator> join_by_id(const heddleUniqueId& id, int rank, int ranks,
                                         const base::Settings& settings) {
  if (ranks < 1 || ranks > kMostRanks)
    base::fail(heddleInvalidArgument, "nranks is {}: allowed is 1 to {}", ranks, kMostRanks);
  if (rank < 0 || rank >= ranks)
    base::fail(heddleInvalidArgument, "rank is {}: allowed is 0 to {} (nranks is {})", rank,
               ranks - 1, ranks);
  const RootAddress root = decode_unique_id(id);
  if (ranks == 1) abandon_root(root.secret);
  return std::make_shared<Communicator>(root, rank, ranks, settings);
}

std::shared_ptr<Communicator> join_by_environment(const base::Settings& settings) {
  const LaunchedRank launched = read_environment(get_variable, settings);
  const int index = next_from_environment();
  if (launched.ranks == 1) return std::make_shared<Communicator>(RootAddress{}, 0, 1, settings);
  base::log_info("launcher {}: rank {} of {}", launched.launcher, launched.rank, launched.ranks);
  if (launched.root) return meet_at(launched, index, settings);
  if (launched.one_host) return meet_on_this_host(launched, index, settings);
  base::fail(
      heddleInvalidUsage,
      "{} started {} ranks on several hosts, but nothing says where they meet: set "
      "HEDDLE_ROOT=host:port (or MASTER_ADDR and MASTER_PORT), or pass a unique id or an MPI "
      "communicator",
      launched.launcher, launched.ranks);
}

}  // namespace heddle::communicator
