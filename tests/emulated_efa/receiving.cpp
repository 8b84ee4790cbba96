// Packets of peers become memory, receives and completions.
#include <algorithm>

#include "endpoint.hpp"

namespace emulated_efa {

void Endpoint::post_buffer(Packet& packet) {
  if (!lower_->receive(packet, sizeof(PacketHeader) + kPayload)) unposted_.push_back(&packet);
}

void Endpoint::poll(Clock::time_point now, bool dead) {
  constexpr int kAtOnce = 64;
  while (!unposted_.empty() && lower_->receive(*unposted_.back(), sizeof(PacketHeader) + kPayload))
    unposted_.pop_back();
  for (int i = 0; i < kAtOnce; ++i) {
    const std::optional<LowerEndpoint::Event> event = lower_->poll();
    if (!event) return;
    ++moved_;
    Packet& packet = *event->packet;
    if (packet.incoming) {
      if (event->failed || dead)
        post_buffer(packet);
      else
        on_packet(packet, event->bytes, now);
      continue;
    }
    if (packet.header().kind == Kind::answer)
      --answers_under_way_;
    else
      --packet.peer->in_flight;
    // What the socket took is a sign of life: a peer that reads nothing soon stops it.
    if (!event->failed) packet.peer->life = now;
    give_packet(packet);
  }
}

void Endpoint::on_packet(Packet& packet, std::size_t bytes, Clock::time_point now) {
  const PacketHeader& header = packet.header();
  if (bytes < sizeof header || header.magic != kMagic || bytes != sizeof header + header.bytes) {
    post_buffer(packet);
    return;
  }
  Peer& from = peer(header.from);
  from.life = now;
  if (header.to_qkey != address_.qkey || header.kind == Kind::answer) {
    if (header.kind != Kind::answer)
      answer(from, header.message, kRemoteQueuePair);
    else if (header.to_qkey == address_.qkey)
      on_answer(from, header);
    post_buffer(packet);
    return;
  }
  // The writer's time means nothing when its clock is another's.
  Faults& faults = domain_.faults;
  const Clock::time_point through(std::clamp(Nanoseconds(header.through),
                                             (now - kCatchUp).time_since_epoch(),
                                             (now + kCatchUp).time_since_epoch()));
  const auto ready =
      faults.receiving.take(bytes, through - faults.receiving.span(bytes)) + faults.delay();
  if (ready <= now && late_.empty())
    from.incoming.arrived(&packet, header.number, now);
  else
    late_.push_back({&packet, &from, ready});
}

void Endpoint::deliver_due(Clock::time_point now) {
  while (!late_.empty() && late_.front().ready <= now) {
    const Late late = late_.front();
    late_.pop_front();
    late.peer->incoming.arrived(late.packet, late.packet->header().number, now);
  }
  for (auto& [address, owned] : peers_) {
    while (const std::optional<Packet*> packet = owned->incoming.next(now)) {
      deliver(*owned, **packet);
      post_buffer(**packet);
    }
  }
}

void Endpoint::deliver(Peer& peer, Packet& packet) {
  if (packet.header().kind == Kind::write)
    deliver_write(peer, packet);
  else
    deliver_send(peer, packet);
}

void Endpoint::deliver_write(Peer& peer, Packet& packet) {
  const PacketHeader& header = packet.header();
  Assembly& assembly = peer.assemblies[header.message];
  assembly.here += header.bytes;
  if (!assembly.failed) {
    // All of the message is checked, whichever of its packets comes first.
    std::byte* const target =
        header.total == 0
            ? nullptr
            : domain_.memory.target(header.key, header.remote, header.total, FI_REMOTE_WRITE);
    const bool stranger = vector_->place_of(header.from) == FI_ADDR_NOTAVAIL;
    if (stranger || (header.total > 0 && target == nullptr)) {
      assembly.failed = true;
      answer(peer, header.message, stranger ? kUnknownPeer : kRemoteAddress);
    } else if (header.bytes > 0) {
      std::memcpy(target + header.offset, packet.payload(), header.bytes);
    }
  }
  if (assembly.here < header.total) return;
  if (!assembly.failed) {
    if (header.has_immediate)
      rx_queue_->push({nullptr, FI_REMOTE_CQ_DATA | FI_RMA | FI_REMOTE_WRITE, header.total, nullptr,
                       header.immediate, 0, vector_->place_of(header.from)});
    answer(peer, header.message, kFine);
  }
  peer.assemblies.erase(header.message);
}

void Endpoint::deliver_send(Peer& peer, Packet& packet) {
  const PacketHeader& header = packet.header();
  const std::byte* data = packet.payload();
  std::unique_ptr<std::byte[]> whole;
  if (header.bytes < header.total) {
    Assembly& assembly = peer.assemblies[header.message];
    if (assembly.data == nullptr) assembly.data = std::make_unique<std::byte[]>(header.total);
    std::memcpy(assembly.data.get() + header.offset, data, header.bytes);
    assembly.here += header.bytes;
    if (assembly.here < header.total) return;
    whole = std::move(assembly.data);
    data = whole.get();
    peer.assemblies.erase(header.message);
  }
  const auto receive = std::ranges::find_if(
      receives_, [&](const PostedReceive& each) { return matches(each, header); });
  if (receive != receives_.end()) {
    complete_receive(*receive, header, data);
    receives_.erase(receive);
  } else if (domain_.config().script.rnr_error) {
    answer(peer, header.message, kReceiverNotReady);
    return;
  } else {
    if (whole == nullptr) {
      whole = std::make_unique<std::byte[]>(header.total);
      std::memcpy(whole.get(), data, header.total);
    }
    unexpected_.push_back({header, std::move(whole)});
  }
  answer(peer, header.message, kFine);
}

bool Endpoint::matches(const PostedReceive& receive, const PacketHeader& header) const {
  if (receive.tagged != (header.kind == Kind::tagged)) return false;
  if (receive.tagged && ((receive.tag ^ header.tag) & ~receive.ignore) != 0) return false;
  return receive.from == FI_ADDR_UNSPEC || (caps_ & FI_DIRECTED_RECV) == 0 ||
         receive.from == vector_->place_of(header.from);
}

void Endpoint::complete_receive(const PostedReceive& receive, const PacketHeader& header,
                                const std::byte* data) {
  const std::size_t room = receive.pieces.bytes();
  const std::size_t bytes = std::min<std::size_t>(room, header.total);
  Completion completion{receive.context,
                        FI_RECV | (receive.tagged ? FI_TAGGED : FI_MSG) |
                            (header.has_immediate ? FI_REMOTE_CQ_DATA : 0),
                        bytes,
                        receive.pieces.count == 0 ? nullptr : receive.pieces.iov[0].iov_base,
                        header.immediate,
                        header.tag,
                        vector_->place_of(header.from)};
  if (!registered(receive.pieces, FI_RECV))  // no longer
    return rx_queue_->push_error(completion, kLocalKey, fi_errno_of(kLocalKey));
  reached(receive.pieces).scatter(data, 0, bytes);
  if (header.total > room)
    rx_queue_->push_error(completion, kLocalLength, FI_ETRUNC, header.total - room);
  else if (receive.completes)
    rx_queue_->push(completion);
}

}  // namespace emulated_efa
