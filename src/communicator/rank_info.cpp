#include "communicator/rank_info.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "communicator/bytes.hpp"
#include "communicator/lines.hpp"

namespace heddle::communicator {
namespace {

constexpr double kSpinMicroseconds = 1000;

}  // namespace

std::string encode(const RankInfo& info) {
  return Writer()
      .text(info.host_id)
      .text(info.host_name)
      .u32(info.pid)
      .text(info.cpus)
      .i32(info.usable_cpus)
      .text(info.agreed)
      .str();
}

RankInfo decode_rank_info(const std::string& text) {
  Reader reader(text);
  RankInfo info;
  info.host_id = reader.text();
  info.host_name = reader.text();
  info.pid = reader.u32();
  info.cpus = reader.text();
  info.usable_cpus = reader.i32();
  info.agreed = reader.text();
  reader.finish();
  return info;
}

std::string encode(const RankAddresses& addresses) {
  return Writer().text(addresses.shared_memory).text(addresses.fabric).str();
}

RankAddresses decode_rank_addresses(const std::string& text) {
  Reader reader(text);
  RankAddresses addresses;
  addresses.shared_memory = reader.text();
  addresses.fabric = reader.text();
  reader.finish();
  return addresses;
}

std::string agreed_settings(const base::Settings& settings) {
  std::string text;
  for (const auto& row : base::settings_table())
    if (row.ranks == base::SettingRow::Ranks::must_agree)
      text += fmt::format("{}={}\n", row.name, row.show(settings));
  return text;
}

void check_agreement(const std::vector<RankInfo>& infos) {
  for (std::size_t rank = 1; rank < infos.size(); ++rank) {
    if (infos[rank].agreed == infos[0].agreed) continue;
    const auto first = lines_of(infos[0].agreed);
    const auto other = lines_of(infos[rank].agreed);
    for (std::size_t i = 0; i < std::min(first.size(), other.size()); ++i)
      if (first[i] != other[i])
        base::fail(heddleInvalidArgument,
                   "ranks differ in a setting that must be the same: rank 0 (host {}) has {}, rank "
                   "{} (host {}) has {}",
                   infos[0].host_name, first[i], rank, infos[rank].host_name, other[i]);
    base::fail(heddleInvalidArgument, "rank {} (host {}) runs another version of Heddle", rank,
               infos[rank].host_name);
  }
}

double spin_microseconds(const base::Settings& settings, const std::vector<RankInfo>& infos,
                         int rank) {
  if (settings.spin >= 0) return settings.spin;
  const RankInfo& me = infos[static_cast<std::size_t>(rank)];
  const auto sharing = std::count_if(infos.begin(), infos.end(), [&](const RankInfo& other) {
    return other.host_id == me.host_id && other.cpus == me.cpus;
  });
  return sharing > me.usable_cpus ? 0 : kSpinMicroseconds;
}

}  // namespace heddle::communicator
