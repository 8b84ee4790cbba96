#include "communicator/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "collectives/rounds.hpp"
#include "collectives/select.hpp"

namespace heddle::communicator {

Planner::Planner(const base::Settings& settings, const PlannerFiles& files,
                 const PlannerOptions& options)
    : settings_(settings), files_(files), options_(options), tuner_(files.machine) {}

std::span<Prepared* const> Planner::prepare(const Call& call) {
  parts_.clear();
  if (call.kind == Call::Kind::transfers)
    prepare_transfers(call);
  else
    parts_.push_back(&prepare_collective(call));
  return parts_;
}

Prepared& Planner::prepare_collective(const Call& call) {
  // What algorithm uneven blocks get does not depend on their lengths.
  if (call.blocks != nullptr) return find_or_make(call, 0);
  const std::size_t bytes = larger_buffer_bytes(call, options_.ranks);
  auto& place = recent_[static_cast<std::size_t>(call.collective)]
                       [(bytes ^ bytes >> 6 ^ bytes >> 12) % kRecent];
  if (place.prepared == nullptr || place.bytes != bytes || place.root != call.root)
    place = {bytes, call.root, &find_or_make(call, bytes)};
  return *place.prepared;
}

// Why HEDDLE_SCHEDULE's file does not run such a call; empty when it does. Requires a file, which
// is proved for blocks of one length only.
std::string Planner::why_not_scheduled(const Call& call) const {
  const collectives::Shape& shape = files_.schedule->shape;
  if (shape.collective != call.collective)
    return fmt::format("is for {}", base::name_of(shape.collective));
  if (shape.ranks != options_.ranks)
    return fmt::format("is for {} ranks, and here are {}", shape.ranks, options_.ranks);
  if (base::has_root(call.collective) && shape.root != call.root)
    return fmt::format("has root {}, and the call root {}", shape.root, call.root);
  return call.blocks != nullptr ? "is for blocks of one length" : "";
}

// Other collectives have to run something else; where the schedule's own does, it is a surprise.
void Planner::note_passed_over(const Call& call, std::string_view algorithm) {
  bool& told = passed_over_[static_cast<std::size_t>(call.collective)];
  if (options_.rank != 0 || std::exchange(told, true)) return;
  const bool own = files_.schedule->shape.collective == call.collective;
  base::log(own ? base::LogLevel::warn : base::LogLevel::info,
            "{} among {} ranks: {} in place of HEDDLE_SCHEDULE={}, whose schedule {}",
            base::name_of(call.collective), options_.ranks, algorithm, settings_.schedule,
            why_not_scheduled(call));
}

Prepared& Planner::make(std::string by, const executor::Program& program,
                        std::size_t message_bytes) {
  if (!collectives::parts_fit(message_bytes, program.parts))
    base::fail(
        heddleInvalidArgument,
        "HEDDLE_SLOT_BYTES is {}: {} among {} ranks packs {} chunks into a message and needs "
        "at least {}",
        options_.slot_bytes, by, options_.ranks, program.parts,
        collectives::least_message(program.parts));
  prepared_.push_back(std::make_unique<Prepared>(std::move(by), program, message_bytes));
  return *prepared_.back();
}

Prepared& Planner::run_schedule(const Call& call) {
  const std::string by = "HEDDLE_SCHEDULE=" + settings_.schedule;
  for (const auto& known : prepared_)
    if (known->name == by) return *known;
  if (options_.rank == 0)
    base::log_info("{} among {} ranks: the schedule of {}", base::name_of(call.collective),
                   options_.ranks, settings_.schedule);
  return make(by, executor::program_of(*files_.schedule, options_.rank), options_.slot_bytes);
}

tuner::Pick Planner::pick(const Call& call, std::size_t bytes) {
  tuner::Request request;
  collectives::SelectionRequest& asked = request.selection;
  asked.collective = call.collective;
  asked.bytes = bytes;
  asked.ranks = options_.ranks;
  asked.reach = options_.local ? collectives::Reach::local : collectives::Reach::fabric;
  asked.forced_algorithm = settings_.algo;
  asked.forced_channels = settings_.channels;
  asked.root = call.root;
  asked.ranks_per_host = options_.ranks_per_host;
  asked.rails = options_.rails;
  asked.uneven = call.blocks != nullptr;
  asked.slot_bytes = options_.slot_bytes;
  request.block_bytes = call.buffers.count * base::size_of(call.buffers.type);
  request.hosts = options_.hosts;
  return tuner_.pick(request);
}

// The same for every operation, but told with each: it decides how its short messages go.
std::string Planner::eager_text() const {
  if (options_.local) return "";
  return fmt::format(", eager up to {}", settings_.eager_bytes);
}

Prepared& Planner::find_or_make(const Call& call, std::size_t bytes) {
  if (files_.schedule && why_not_scheduled(call).empty()) return run_schedule(call);
  const tuner::Pick choice = pick(call, bytes);
  if (files_.schedule) note_passed_over(call, choice.algorithm->name);
  bool& told = refusal_told_[static_cast<std::size_t>(call.collective)];
  if (choice.force_refused && options_.rank == 0 && !std::exchange(told, true))
    base::log_warn("HEDDLE_ALGO: {}", choice.why);
  const collectives::Shape shape{call.collective, options_.ranks, choice.channels, call.root,
                                 options_.ranks_per_host};
  for (const auto& known : prepared_)
    if (known->name == choice.algorithm->name && known->shape == shape &&
        known->plan.message_bytes() == choice.message_bytes)
      return *known;
  if (options_.rank == 0)
    base::log_info("{} of {} bytes among {} ranks: {} on {} in messages up to {} bytes{} ({})",
                   base::name_of(call.collective), bytes, options_.ranks, choice.algorithm->name,
                   base::counted(static_cast<std::size_t>(choice.channels), "channel"),
                   choice.message_bytes, eager_text(), choice.why);
  return make(std::string(choice.algorithm->name),
              executor::program_of(*choice.algorithm, shape, options_.rank), choice.message_bytes);
}

void Planner::prepare_transfers(const Call& call) {
  std::map<std::pair<int, executor::Direction>, executor::Blocks> by_pipe;
  for (const Transfer& transfer : call.transfers) {
    const bool self = transfer.peer == options_.rank;
    const bool sends = transfer.direction == executor::Direction::send;
    auto& blocks = by_pipe[{transfer.peer, self ? executor::Direction::send : transfer.direction}];
    (sends ? blocks.inputs : blocks.outputs).push_back(transfer.block);
  }
  for (auto& [pipe, blocks] : by_pipe) {
    const auto& [peer, direction] = pipe;
    const auto count = static_cast<int>(std::max(blocks.inputs.size(), blocks.outputs.size()));
    auto found = transfers_.find({peer, direction, count});
    if (found == transfers_.end())
      found = transfers_
                  .try_emplace(
                      {peer, direction, count}, "sends and receives",
                      executor::transfers(direction, peer, count, options_.rank, options_.ranks),
                      options_.slot_bytes)
                  .first;
    found->second.blocks = std::move(blocks);
    parts_.push_back(&found->second);
  }
}

}  // namespace heddle::communicator
