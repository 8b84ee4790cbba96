// What ranks tell each other when they join.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"

namespace heddle::communicator {

// First exchange: who shares a host with whom.
struct RankInfo {
  std::string host_id;
  std::string host_name;
  std::uint32_t pid = 0;
  std::string cpus;  // allowed, as "0-3,8"
  int usable_cpus = 1;
  // Settings that must be the same on every rank, one "NAME=value" a line.
  std::string agreed;
};

std::string encode(const RankInfo& info);
// Fails with heddleRemoteError when malformed.
RankInfo decode_rank_info(const std::string& text);

// Second exchange: how to reach the rank. Empty where it does not offer a transport.
struct RankAddresses {
  std::string shared_memory;
  std::string fabric;
};

std::string encode(const RankAddresses& addresses);
RankAddresses decode_rank_addresses(const std::string& text);

// The settings that decide what crosses between ranks, for RankInfo::agreed.
std::string agreed_settings(const base::Settings& settings);
// Fails with heddleInvalidArgument naming two ranks and the setting in which they differ.
void check_agreement(const std::vector<RankInfo>& infos);

// How long rank `rank` keeps its core when it waits: HEDDLE_SPIN, or by itself not at all when the
// ranks that share its processors are more than those.
double spin_microseconds(const base::Settings& settings, const std::vector<RankInfo>& infos,
                         int rank);

}  // namespace heddle::communicator
