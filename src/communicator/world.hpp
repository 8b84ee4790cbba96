// Who takes part: this rank, all ranks' descriptions, the connection to the root, and the way to
// each peer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "communicator/member.hpp"
#include "communicator/pipes.hpp"
#include "communicator/rank_info.hpp"
#include "communicator/unique_id.hpp"

namespace heddle::communicator {

class World {
 public:
  // Joins; blocks until all ranks have. A world of one contacts nobody.
  // `files` is the digests of what ranks must have alike beside their settings (PlannerFiles).
  World(const RootAddress& root, int rank, int ranks, const base::Settings& settings,
        const std::string& files);
  ~World();

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const std::vector<RankInfo>& infos() const { return infos_; }
  // "rank 2 on host h (pid 7)"
  std::string name_of(int rank) const;
  const transport::CommunicatorId& id() const { return id_; }
  // Null in a world of one.
  Member* member() const { return member_.get(); }
  // Whether shared memory joins all ranks.
  bool local() const { return fabric_ == nullptr; }
  // As in collectives::Shape: 0 unless every host has as many ranks, one after the other.
  int ranks_per_host() const;
  int hosts() const;
  // That every process has at least, the same on all ranks; 1 without a fabric.
  int rails() const;
  // Null when no rank needs it.
  const std::shared_ptr<transport::Transport>& fabric() const { return fabric_; }
  std::vector<Route> routes() const;

 private:
  void join(const RootAddress& root, const base::Settings& settings, const std::string& files);
  void connect_transports(const RootAddress& root, const base::Settings& settings);
  void open_transports(const base::Settings& settings);
  void forget_secret();

  int rank_;
  int ranks_;
  transport::CommunicatorId id_{};
  std::vector<RankInfo> infos_;
  std::vector<RankAddresses> addresses_;
  std::shared_ptr<Member> member_;                       // shared with the control thread
  std::shared_ptr<transport::Transport> shared_memory_;  // both shared with other communicators
  std::shared_ptr<transport::Transport> fabric_;
};

}  // namespace heddle::communicator
