#include "communicator/planner.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "collectives/select.hpp"

namespace heddle::communicator {

Planner::Planner(const base::Settings& settings, int rank, int ranks, bool local,
                 std::size_t slot_bytes)
    : settings_(settings), rank_(rank), ranks_(ranks), local_(local), slot_bytes_(slot_bytes) {}

Prepared& Planner::prepare(const Call& call) {
  const int blocks = std::max(base::input_blocks(call.collective, ranks_),
                              base::output_blocks(call.collective, ranks_));
  const std::size_t bytes =
      call.buffers.count * base::size_of(call.buffers.type) * static_cast<std::size_t>(blocks);
  auto& place = recent_[static_cast<std::size_t>(call.collective)]
                       [(bytes ^ bytes >> 6 ^ bytes >> 12) % kRecent];
  if (place.prepared == nullptr || place.bytes != bytes)
    place = {bytes, &find_or_make(call.collective, bytes)};
  return *place.prepared;
}

Prepared& Planner::find_or_make(base::Collective collective, std::size_t bytes) {
  const auto reach = local_ ? collectives::Reach::local : collectives::Reach::fabric;
  const auto choice =
      collectives::choose({collective, bytes, ranks_, reach, settings_.algo, settings_.channels});
  if (choice.force_refused && rank_ == 0) base::log_warn("HEDDLE_ALGO: {}", choice.why);
  for (const auto& known : prepared_)
    if (&known->algorithm == choice.algorithm && known->shape.collective == collective &&
        known->shape.channels == choice.channels)
      return *known;
  if (rank_ == 0)
    base::log_info("{} of {} bytes among {} ranks: {} with {} channels ({})",
                   base::name_of(collective), bytes, ranks_, choice.algorithm->name,
                   choice.channels, choice.why);
  const collectives::Shape shape{collective, ranks_, choice.channels};
  prepared_.push_back(std::make_unique<Prepared>(*choice.algorithm, shape, rank_, slot_bytes_));
  return *prepared_.back();
}

}  // namespace heddle::communicator
