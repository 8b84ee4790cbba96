#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "collectives/proof.hpp"

namespace heddle::collectives::proof {
namespace {

struct Message {
  int piece;
  std::size_t move;
};

// What both ends of the pipes of a channel do in one round.
class Ledger {
 public:
  Ledger(const Schedule& schedule, Pairing& pairing) : ranks_(schedule.shape.ranks) {
    pairing_ = &pairing;
  }

  int note_sent(int from, int to, Message message) {
    const int pipe = pipe_between(from, to);
    sent_[static_cast<std::size_t>(pipe)].push_back(message);
    return pipe;
  }
  int note_received(int from, int to, Message message) {
    const int pipe = pipe_between(from, to);
    received_[static_cast<std::size_t>(pipe)].push_back(message);
    return pipe;
  }
  const std::vector<Message>& sent(std::size_t pipe) const { return sent_[pipe]; }
  const std::vector<Message>& received(std::size_t pipe) const { return received_[pipe]; }

 private:
  int pipe_between(int from, int to) {
    const auto key = static_cast<std::int64_t>(from) * ranks_ + to;
    const auto [found, is_new] = index_.try_emplace(key, static_cast<int>(index_.size()));
    if (is_new) {
      pairing_->pipes.push_back({from, to});
      sent_.emplace_back();
      received_.emplace_back();
    }
    return found->second;
  }

  std::int64_t ranks_;
  Pairing* pairing_;
  std::unordered_map<std::int64_t, int> index_;
  std::vector<std::vector<Message>> sent_;
  std::vector<std::vector<Message>> received_;
};

Pairing::LaneUse note_lane(const Lane& lane, int rank, Ledger& ledger) {
  Pairing::LaneUse use;
  for (std::size_t m = 0; m < lane.size(); ++m) {
    const Message message{lane[m].piece, m};
    Pairing::MoveUse& move = use.moves.emplace_back(Pairing::MoveUse{use.pipes.size(), 0, 0});
    for (const End& end : lane[m].sources) {
      if (end.where != End::Where::peer) continue;
      use.pipes.push_back(ledger.note_received(end.index, rank, message));
      ++move.receives;
    }
    for (const End& end : lane[m].destinations) {
      if (end.where != End::Where::peer) continue;
      use.pipes.push_back(ledger.note_sent(rank, end.index, message));
      ++move.sends;
    }
  }
  return use;
}

}  // namespace

std::optional<Fault> pair_messages(const Schedule& schedule, int channel, Pairing& pairing) {
  pairing = {};
  Ledger ledger(schedule, pairing);
  for (int rank = 0; rank < schedule.shape.ranks; ++rank)
    pairing.lanes.push_back(
        note_lane(schedule.lanes[static_cast<std::size_t>(rank)][static_cast<std::size_t>(channel)],
                  rank, ledger));

  for (std::size_t p = 0; p < pairing.pipes.size(); ++p) {
    auto& [from, to, messages] = pairing.pipes[p];
    const auto& sent = ledger.sent(p);
    const auto& received = ledger.received(p);
    messages = std::min(sent.size(), received.size());
    for (std::size_t k = 0; k < messages; ++k) {
      if (sent[k].piece == received[k].piece) continue;
      return fault_at(schedule, FaultKind::wrong_piece, to, channel, received[k].move,
                      fmt::format("message {} from rank {} is received as piece {}, but was sent "
                                  "as piece {} (move {} there)",
                                  k, from, received[k].piece, sent[k].piece, sent[k].move));
    }
    if (sent.size() > messages)
      return fault_at(schedule, FaultKind::leftover_message, from, channel, sent[messages].move,
                      fmt::format("message {} to rank {} is never received", messages, to));
    if (received.size() > messages)
      return fault_at(schedule, FaultKind::deadlock, to, channel, received[messages].move,
                      fmt::format("waits for message {} from rank {}, which sends {} a round",
                                  messages, from, messages));
  }
  return std::nullopt;
}

}  // namespace heddle::collectives::proof
