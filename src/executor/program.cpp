#include "executor/program.hpp"

#include <utility>

#include "base/error.hpp"

namespace heddle::executor {

using collectives::input;
using collectives::output;

Program program_of(const collectives::Algorithm& algorithm, const collectives::Shape& shape,
                   int rank) {
  HEDDLE_ASSERT(collectives::can_do(algorithm, shape), "{} does not do this {}", algorithm.name,
                base::name_of(shape.collective));
  HEDDLE_ASSERT(shape.channels >= 1 && rank >= 0 && rank < shape.ranks,
                "rank {} of {}, {} channels", rank, shape.ranks, shape.channels);
  Program program{shape,
                  rank,
                  input_blocks(shape, rank),
                  output_blocks(shape, rank),
                  algorithm.pieces(shape),
                  algorithm.parts(shape),
                  {}};
  for (int channel = 0; channel < shape.channels; ++channel)
    program.lanes.push_back({channel, algorithm.lane(shape, rank, channel)});
  return program;
}

Program program_of(const collectives::Schedule& schedule, int rank) {
  const collectives::Shape& shape = schedule.shape;
  Program program{
      shape,          rank, input_blocks(shape, rank), output_blocks(shape, rank), schedule.pieces,
      schedule.parts, {}};
  for (int channel = 0; channel < shape.channels; ++channel)
    program.lanes.push_back(
        {channel,
         schedule.lanes[static_cast<std::size_t>(rank)][static_cast<std::size_t>(channel)]});
  return program;
}

Program transfers(Direction direction, int peer, int count, int rank, int ranks) {
  const bool sends = direction == Direction::send || peer == rank;
  const bool receives = direction == Direction::receive || peer == rank;
  ProgramLane lane{kTransferChannel, {}, true};
  for (int block = 0; block < count; ++block)
    lane.moves.push_back({0,
                          {sends ? input(block) : collectives::peer(peer)},
                          {receives ? output(block) : collectives::peer(peer)}});
  // The shape with the most blocks, none of which is another in place.
  const collectives::Shape shape{base::Collective::all_to_all, ranks, 1};
  return {shape, rank, sends ? count : 0, receives ? count : 0, 1, 1, {std::move(lane)}};
}

}  // namespace heddle::executor
