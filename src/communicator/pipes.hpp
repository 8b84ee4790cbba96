// A communicator's pipes, made when a plan first needs them and kept until the end.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "executor/plan.hpp"
#include "transport/pipe.hpp"

namespace heddle::communicator {

// How one peer is reached.
struct Route {
  transport::Transport* transport;  // null for this rank itself
  std::string address;
};

class Pipes : public executor::PipeTable {
 public:
  Pipes(const transport::CommunicatorId& communicator, int rank, std::vector<Route> routes,
        const transport::PipeOptions& options);

  // Works on the pipes that are needed and not there yet. True when all are there; call again
  // otherwise. `missing` then is a rank that is waited for.
  bool open(std::span<const executor::PipeNeed> needs, int& missing);
  // Whether any of these pipes crosses a transport that must be progressed for data to arrive.
  bool through(const transport::Transport* transport,
               std::span<const executor::PipeNeed> needs) const;

  // Ends all of them. What an adapter has in hand it goes on reading until at_rest.
  void give_up();
  bool at_rest();

  transport::SendPipe& to(int peer, int channel) override;
  transport::ReceivePipe& from(int peer, int channel) override;

 private:
  using Place = std::pair<int, int>;  // peer, channel

  transport::CommunicatorId communicator_;
  int rank_;
  std::vector<Route> routes_;
  transport::PipeOptions options_;
  std::map<Place, std::unique_ptr<transport::SendPipe>> to_;
  std::map<Place, std::unique_ptr<transport::ReceivePipe>> from_;
};

}  // namespace heddle::communicator
