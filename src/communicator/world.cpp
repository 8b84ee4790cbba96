#include "communicator/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "communicator/transports.hpp"
#include "topology/cpu.hpp"
#include "topology/host.hpp"

namespace heddle::communicator {
namespace {

RankInfo describe_this_rank(const base::Settings& settings, const std::string& files) {
  const topology::Host host = topology::this_host(settings);
  RankInfo info;
  info.host_id = host.id;
  info.host_name = host.name;
  info.pid = static_cast<std::uint32_t>(getpid());
  info.cpus = topology::to_text(topology::cpu_place().cpus);
  info.usable_cpus = topology::usable_cpus();
  info.agreed = agreed_settings(settings) + files;
  return info;
}

// For what is queued for the root to leave.
constexpr base::Seconds kFarewell{0.3};

}  // namespace

World::World(const RootAddress& root, int rank, int ranks, const base::Settings& settings,
             const std::string& files)
    : rank_(rank), ranks_(ranks) {
  if (settings.provider != "auto") check_provider(settings);
  if (ranks == 1) {
    infos_.push_back(describe_this_rank(settings, files));
    addresses_.emplace_back();
    return;
  }
  join(root, settings, files);
}

World::~World() {
  forget_secret();
  if (member_) member_->close(kFarewell);
}

void World::join(const RootAddress& root, const base::Settings& settings,
                 const std::string& files) {
  const std::string id = proof(root.secret, "communicator", "");
  std::memcpy(id_.data(), id.data(), id_.size());
  const RankInfo me = describe_this_rank(settings, files);
  const JoinRequest request{root, rank_, ranks_, me.host_name,
                            base::Seconds(settings.init_timeout)};
  std::vector<std::string> table;
  member_ = std::make_shared<Member>(request, encode(me), table);
  try {
    for (const auto& text : table) infos_.push_back(decode_rank_info(text));
    check_agreement(infos_);
    for (int peer = 0; peer < ranks_; ++peer) {
      const RankInfo& info = infos_[static_cast<std::size_t>(peer)];
      if (info.host_name == member_->root_host() && info.pid == member_->root_pid())
        member_->name_root(peer, name_of(peer));
    }
    connect_transports(root, settings);
  } catch (const base::Error& error) {
    member_->give_up_before_watch(error.code(), error.what());
    throw;
  }
  ControlService::instance().watch(member_);
}

void World::connect_transports(const RootAddress& root, const base::Settings& settings) {
  open_transports(settings);
  RankAddresses mine;
  const transport::PipeSecret secret = secret_from_text(proof(root.secret, "pipes", ""));
  if (shared_memory_) mine.shared_memory = shared_memory_->address();
  if (fabric_) mine.fabric = fabric_->address();
  for (const auto& transport : {shared_memory_, fabric_})
    if (transport) transport->add_secret(id_, secret);
  try {
    for (const auto& text : member_->exchange(encode(mine)))
      addresses_.push_back(decode_rank_addresses(text));
  } catch (const base::Error&) {
    forget_secret();
    throw;
  }
}

void World::forget_secret() {
  for (const auto& transport : {shared_memory_, fabric_})
    if (transport) transport->remove_secret(id_);
}

void World::open_transports(const base::Settings& settings) {
  const auto same_host = [&](const RankInfo& info) {
    return info.host_id == infos_[static_cast<std::size_t>(rank_)].host_id;
  };
  const bool one_host = std::all_of(infos_.begin(), infos_.end(), same_host);
  if (settings.shm && std::count_if(infos_.begin(), infos_.end(), same_host) > 1)
    shared_memory_ = open_shared_memory();
  if (!one_host || !settings.shm) fabric_ = open_fabric(settings);
}

std::string World::name_of(int rank) const {
  const RankInfo& info = infos_[static_cast<std::size_t>(rank)];
  return fmt::format("rank {} on host {} (pid {})", rank, info.host_name, info.pid);
}

// The same everywhere: the least of pairs with this rank's own address among them is the least of
// all.
int World::rails() const {
  if (fabric_ == nullptr) return 1;
  int least = std::numeric_limits<int>::max();
  for (const RankAddresses& addresses : addresses_)
    least = std::min(least, fabric_->rails_to(addresses.fabric));
  return least;
}

int World::hosts() const {
  std::set<std::string_view> seen;
  for (const RankInfo& info : infos_) seen.insert(info.host_id);
  return static_cast<int>(seen.size());
}

int World::ranks_per_host() const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  if (infos_.size() != ranks) return ranks_;  // a world of one told nobody
  std::vector<std::string> hosts;
  for (const RankInfo& info : infos_) hosts.push_back(info.host_id);
  return topology::even_ranks_per_host(hosts);
}

std::vector<Route> World::routes() const {
  std::vector<Route> routes;
  const std::string& my_host = infos_[static_cast<std::size_t>(rank_)].host_id;
  for (std::size_t peer = 0; peer < infos_.size(); ++peer) {
    if (static_cast<int>(peer) == rank_) {
      routes.push_back({nullptr, ""});
    } else if (shared_memory_ && infos_[peer].host_id == my_host) {
      routes.push_back({shared_memory_.get(), addresses_[peer].shared_memory});
    } else {
      routes.push_back({fabric_.get(), addresses_[peer].fabric});
    }
  }
  return routes;
}

}  // namespace heddle::communicator
