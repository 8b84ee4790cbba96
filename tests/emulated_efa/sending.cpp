// Operations become packets, and answers completions.
#include <algorithm>

#include "endpoint.hpp"

namespace emulated_efa {

namespace {

// Data packets to one peer that the provider underneath may hold: enough to fill a socket, few
// enough that a peer that takes none does not take all memory.
constexpr int kMostInFlight = 32;

std::uint64_t local_access(Kind kind) { return kind == Kind::write ? FI_WRITE : FI_SEND; }

}  // namespace

Peer& Endpoint::peer(const EfaAddress& address) {
  std::unique_ptr<Peer>& peer = peers_[address];
  if (peer == nullptr)
    peer = std::make_unique<Peer>(address, lower_->insert(socket_of(address)), domain_.config());
  return *peer;
}

Packet& Endpoint::take_packet() {
  if (free_packets_.empty()) {
    packets_.push_back(std::make_unique<Packet>(kPayload));
    return *packets_.back();
  }
  Packet& packet = *free_packets_.back();
  free_packets_.pop_back();
  return packet;
}

void Endpoint::give_packet(Packet& packet) { free_packets_.push_back(&packet); }

// The operation's next packet, with a copy of its bytes: the user's memory is never touched after
// the completion, whatever the provider underneath still holds.
Packet& Endpoint::build(Operation& operation) {
  const Post& post = operation.post;
  Packet& packet = take_packet();
  packet.peer = operation.peer;
  PacketHeader& header = packet.header();
  header = {};
  header.magic = kMagic;
  header.kind = post.kind;
  header.has_immediate = post.immediate.has_value();
  header.immediate = static_cast<std::uint32_t>(post.immediate.value_or(0));
  header.message = operation.number;
  header.number = operation.peer->next_number++;
  header.total = operation.total;
  header.offset = operation.sent;
  header.remote = post.remote;
  header.key = static_cast<std::uint32_t>(post.key);
  header.tag = post.tag;
  header.bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kPayload, operation.total - operation.sent));
  header.to_qkey = operation.peer->address.qkey;
  header.from = address_;
  if (operation.copy != nullptr)
    std::memcpy(packet.payload(), operation.copy.get() + operation.sent, header.bytes);
  else
    reached(post.pieces).gather(packet.payload(), operation.sent, header.bytes);
  operation.sent += header.bytes;
  operation.all_sent = operation.sent == operation.total;
  return packet;
}

// False: the provider underneath takes no more for this peer now.
bool Endpoint::send_stuck(Peer& peer) {
  while (!peer.stuck.empty()) {
    Packet& packet = *peer.stuck.front();
    const PacketHeader& header = packet.header();
    if (!lower_->send(packet, sizeof(PacketHeader) + header.bytes, peer.lower)) return false;
    peer.stuck.pop_front();
    ++moved_;
    if (header.kind == Kind::answer)
      ++answers_under_way_;
    else
      ++peer.in_flight;
  }
  return true;
}

void Endpoint::send_all(Clock::time_point now) {
  for (auto& [address, owned] : peers_) {
    Peer& peer = *owned;
    if (!send_stuck(peer)) continue;
    while (!peer.sending.empty() && peer.in_flight < kMostInFlight &&
           domain_.faults.sending.may_go(now)) {
      Operation& operation = *peer.sending.front();
      if (operation.copy == nullptr &&
          !registered(operation.post.pieces, local_access(operation.post.kind))) {
        finish(operation, kLocalKey);
        continue;
      }
      Packet& packet = build(operation);
      const auto through = domain_.faults.sending.take(sizeof(PacketHeader) + packet.header().bytes,
                                                       std::max(operation.posted, now - kCatchUp));
      packet.header().through = through.time_since_epoch().count();
      operation.touched = now;
      if (operation.all_sent) peer.sending.pop_front();
      peer.stuck.push_back(&packet);
      if (!send_stuck(peer)) break;
    }
  }
}

void Endpoint::answer(Peer& peer, std::uint64_t message, int status) {
  Packet& packet = take_packet();
  packet.peer = &peer;
  PacketHeader& header = packet.header();
  header = {};
  header.magic = kMagic;
  header.kind = Kind::answer;
  header.status = static_cast<std::uint16_t>(status);
  header.message = message;
  header.to_qkey = peer.address.qkey;
  header.from = address_;
  peer.stuck.push_back(&packet);
}

void Endpoint::on_answer(Peer& peer, const PacketHeader& header) {
  const auto found = operations_.find(header.message);
  if (found == operations_.end() || found->second->peer != &peer) return;  // given up before
  Operation& operation = *found->second;
  finish(operation, operation.fate != kFine ? operation.fate : header.status);
}

void Endpoint::finish(Operation& operation, int status) {
  const Post& post = operation.post;
  const std::uint64_t kind = post.kind == Kind::write    ? FI_RMA | FI_WRITE
                             : post.kind == Kind::tagged ? FI_TAGGED | FI_SEND
                                                         : FI_MSG | FI_SEND;
  const Completion completion{post.context,    kind, operation.total, nullptr, 0, post.tag,
                              FI_ADDR_NOTAVAIL};
  // Errors are told even of operations that asked for no completion.
  if (status != kFine)
    tx_queue_->push_error(completion, status, fi_errno_of(status));
  else if (completes(post))
    tx_queue_->push(completion);
  std::erase(operation.peer->sending, &operation);
  operations_.erase(operation.number);
}

void Endpoint::fail_all(int status) {
  while (!operations_.empty()) finish(*operations_.begin()->second, status);
  for (auto& [address, peer] : peers_) {
    for (Packet* packet : peer->stuck) give_packet(*packet);
    peer->stuck.clear();
  }
}

void Endpoint::lose_patience(Clock::time_point now) {
  if (!domain_.config().script.patience) return;
  const Nanoseconds patience = *domain_.config().script.patience;
  std::vector<Operation*> lost;
  for (auto& [number, operation] : operations_)
    if (now - std::max(operation->touched, operation->peer->life) > patience)
      lost.push_back(operation.get());
  std::ranges::sort(lost, {}, &Operation::number);
  for (Operation* operation : lost) {
    const bool never = operation->peer->life == Clock::time_point{};
    finish(*operation, never ? kUnreachable : kUnresponsive);
  }
}

}  // namespace emulated_efa
