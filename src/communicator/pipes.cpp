#include "communicator/pipes.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace heddle::communicator {

using Direction = executor::PipeNeed::Direction;

Pipes::Pipes(const transport::CommunicatorId& communicator, int rank, std::vector<Route> routes,
             const transport::PipeOptions& options)
    : communicator_(communicator), rank_(rank), routes_(std::move(routes)), options_(options) {}

bool Pipes::open(std::span<const executor::PipeNeed> needs, int& missing) {
  bool all = true;
  for (const auto& need : needs) {
    const Place place{need.peer, need.channel};
    const Route& route = routes_[static_cast<std::size_t>(need.peer)];
    bool there = true;
    if (need.direction == Direction::send) {
      auto& pipe = to_[place];
      const transport::PipeKey key{communicator_, rank_, need.peer, need.channel};
      if (!pipe) pipe = route.transport->connect(route.address, key, options_);
      there = pipe != nullptr;
    } else {
      auto& pipe = from_[place];
      const transport::PipeKey key{communicator_, need.peer, rank_, need.channel};
      if (!pipe) pipe = route.transport->accept(route.address, key, options_);
      there = pipe != nullptr;
    }
    if (!there) {
      all = false;
      missing = need.peer;
      route.transport->progress();
    }
  }
  return all;
}

bool Pipes::through(const transport::Transport* transport,
                    std::span<const executor::PipeNeed> needs) const {
  return std::any_of(needs.begin(), needs.end(), [&](const auto& need) {
    return routes_[static_cast<std::size_t>(need.peer)].transport == transport;
  });
}

void Pipes::give_up() {
  for (const auto& [place, pipe] : to_)
    if (pipe) pipe->give_up();
  for (const auto& [place, pipe] : from_)
    if (pipe) pipe->give_up();
}

bool Pipes::at_rest() {
  return std::ranges::all_of(
      to_, [](const auto& entry) { return entry.second == nullptr || entry.second->at_rest(); });
}

transport::SendPipe& Pipes::to(int peer, int channel) {
  const auto& pipe = to_[{peer, channel}];
  HEDDLE_ASSERT(pipe != nullptr, "to rank {} channel {}", peer, channel);
  return *pipe;
}

transport::ReceivePipe& Pipes::from(int peer, int channel) {
  const auto& pipe = from_[{peer, channel}];
  HEDDLE_ASSERT(pipe != nullptr, "from rank {} channel {}", peer, channel);
  return *pipe;
}

}  // namespace heddle::communicator
