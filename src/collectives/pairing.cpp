#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "collectives/proof.hpp"

namespace heddle::collectives::proof {
namespace {

// A message, or a part of one.
struct Chunk {
  int piece;
  std::size_t move;
  bool more;
};

// What both ends of the pipes of a channel do in one round.
class Ledger {
 public:
  Ledger(const Schedule& schedule, Pairing& pairing) : ranks_(schedule.shape.ranks) {
    pairing_ = &pairing;
  }

  int note_sent(int from, int to, Chunk chunk) {
    const int pipe = pipe_between(from, to);
    sent_[static_cast<std::size_t>(pipe)].push_back(chunk);
    return pipe;
  }
  int note_received(int from, int to, Chunk chunk) {
    const int pipe = pipe_between(from, to);
    received_[static_cast<std::size_t>(pipe)].push_back(chunk);
    return pipe;
  }
  const std::vector<Chunk>& sent(std::size_t pipe) const { return sent_[pipe]; }
  const std::vector<Chunk>& received(std::size_t pipe) const { return received_[pipe]; }

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
  std::vector<std::vector<Chunk>> sent_;
  std::vector<std::vector<Chunk>> received_;
};

Pairing::LaneUse note_lane(const Lane& lane, int rank, Ledger& ledger) {
  Pairing::LaneUse use;
  for (std::size_t m = 0; m < lane.size(); ++m) {
    Pairing::MoveUse& move = use.moves.emplace_back(Pairing::MoveUse{use.pipes.size(), 0, 0});
    for (const End& end : lane[m].sources) {
      if (end.where != End::Where::peer) continue;
      use.pipes.push_back(ledger.note_received(end.index, rank, {lane[m].piece, m, end.more}));
      ++move.receives;
    }
    for (const End& end : lane[m].destinations) {
      if (end.where != End::Where::peer) continue;
      use.pipes.push_back(ledger.note_sent(rank, end.index, {lane[m].piece, m, end.more}));
      ++move.sends;
    }
  }
  return use;
}

// What is wrong with how the chunks of one end of a pipe make messages; nothing when the end of a
// round ends a message and each has one piece and no more parts than the schedule says.
std::optional<Fault> check_messages(const Schedule& schedule, int rank, int channel,
                                    const std::vector<Chunk>& chunks) {
  std::size_t first = 0;
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const auto wrong = [&](const std::string& detail) {
      return fault_at(schedule, FaultKind::wrong_message, rank, channel, chunks[k].move, detail);
    };
    if (chunks[k].piece != chunks[first].piece)
      return wrong(fmt::format("a message of piece {} goes on with piece {}", chunks[first].piece,
                               chunks[k].piece));
    if (k - first >= static_cast<std::size_t>(schedule.parts))
      return wrong(fmt::format("a message has more than the {} parts that the schedule allows",
                               schedule.parts));
    if (!chunks[k].more) first = k + 1;
  }
  if (first == chunks.size()) return std::nullopt;
  return fault_at(schedule, FaultKind::wrong_message, rank, channel, chunks.back().move,
                  "the last message of the round does not end");
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
    auto& [from, to, messages, parts] = pairing.pipes[p];
    const auto& sent = ledger.sent(p);
    const auto& received = ledger.received(p);
    messages = std::min(sent.size(), received.size());
    for (std::size_t k = 0; k < messages; ++k) {
      if (sent[k].more != received[k].more && sent[k].piece == received[k].piece)
        return fault_at(
            schedule, FaultKind::wrong_message, to, channel, received[k].move,
            fmt::format("chunk {} from rank {} is {} of its message there (move {}), "
                        "and not here",
                        k, from, sent[k].more ? "not the last" : "the last", sent[k].move));
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
    if (auto fault = check_messages(schedule, from, channel, sent)) return fault;
    std::size_t run = 0;
    for (const Chunk& chunk : sent) {
      parts = std::max(parts, ++run);
      if (!chunk.more) run = 0;
    }
  }
  return std::nullopt;
}

}  // namespace heddle::collectives::proof
