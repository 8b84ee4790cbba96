#include "transport/fabric/send_connection.hpp"

#include <algorithm>

namespace heddle::transport::fabric {

SendConnection::SendConnection(Core& core, Peer& peer, std::string label, const Shape& shape)
    : Connection(core, peer, std::move(label)),
      shape_(shape),
      // Receives may be over that messages sent ahead took, though their credits are not used yet.
      grants_(shape.slots + kMostAhead),
      parts_(shape.slots + kMostAhead) {
  for (Part& part : parts_) part.regions.reserve(core_.rails().size());
}

void SendConnection::send_hello(const Hello& hello) {
  nonce_ = hello.nonce;
  core_.send_control(*this, to_peer(Kind::hello), std::as_bytes(std::span(&hello, 1)));
}

std::optional<Welcome> SendConnection::take_welcome() { return std::exchange(welcome_, {}); }

void SendConnection::open(const Welcome& welcome) {
  open_ = true;
  remote_id_ = welcome.connection;
  remote_token_ = welcome.token;
  shape_.eager_bytes = std::min(shape_.eager_bytes, welcome.shape.eager_bytes);
}

bool SendConnection::ready(std::size_t bytes) {
  check();
  const bool may = may_send(bytes);
  if (may)
    went_on();
  else
    waited();
  return may;
}

bool SendConnection::may_send(std::size_t bytes) const {
  if (part(grants_.next()).under_way != 0) return false;
  if (is_eager(bytes)) return grants_.next() < grants_.done() + shape_.slots;
  return grants_.front() != nullptr;
}

void SendConnection::send_eager(std::byte* data, std::size_t bytes, const Area& area) {
  Header header = to_peer(Kind::eager);
  header.sequence = static_cast<std::uint32_t>(next());
  header.bytes = static_cast<std::uint32_t>(bytes);
  std::memcpy(data - sizeof header, &header, sizeof header);
  Request& request = core_.request(*this, Verb::send, core_.link_for_small(peer_));
  request.sequence = next();
  request.data = data - sizeof header;
  request.bytes = bytes + sizeof header;
  request.regions = area.regions();
  ++part(next()).under_way;
  ++messages_;
  core_.submit(request);
}

void SendConnection::send_long(std::uint64_t sequence, std::byte* data, std::size_t bytes,
                               const Regions* regions, Length length) {
  const Credit& credit = *grants_.at(sequence);
  if (credit.bytes < bytes)
    base::fail(heddleInvalidUsage, "{}: a message of {} bytes does not fit a slot of {}", label(),
               bytes, credit.bytes);
  ++messages_;
  Part& mine = part(sequence);
  mine.sequence = sequence;
  if (core_.rma()) {
    mine.credit = credit;
    return write_stripes(sequence, data, bytes, regions, length);
  }
  const int link = static_cast<int>(sequence % static_cast<std::uint64_t>(links_));
  Request& request = core_.request(*this, Verb::tagged_send, link);
  request.sequence = sequence;
  request.data = data;
  request.bytes = bytes;
  request.regions = regions;
  request.tag = message_tag(remote_id_, sequence);
  ++mine.under_way;
  core_.submit(request);
}

void SendConnection::write_stripes(std::uint64_t sequence, std::byte* data, std::size_t bytes,
                                   const Regions* regions, Length length) {
  const bool apart = length == Length::apart && !core_.tells_written_length() &&
                     bytes != part(sequence).credit.bytes;
  core_.stripe(peer_, bytes, apart ? kMaxStripes - 1 : kMaxStripes, stripes_);
  // With no link up they wait for one together.
  if (stripes_.empty()) stripes_.push_back({0, bytes});
  const auto writes = static_cast<std::uint32_t>(stripes_.size());
  const std::uint32_t count = apart ? writes + 1 : writes;
  part(sequence).under_way += static_cast<int>(writes);
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < writes; ++i) {
    Request& request = core_.request(*this, Verb::write, stripes_[i].link);
    request.sequence = sequence;
    request.data = data + at;
    request.bytes = stripes_[i].bytes;
    request.regions = regions;
    request.remote = part(sequence).credit.address + at;
    if (i == 0 && length == Length::before && core_.writes_length()) request.length = bytes;
    request.tag = pack({remote_id_, static_cast<std::uint8_t>(sequence), i, count});
    at += stripes_[i].bytes;
    core_.submit(request);
  }
  if (!apart) return;
  Header header = to_peer(Kind::length);
  header.sequence = static_cast<std::uint32_t>(sequence);
  header.count = writes;
  const std::uint64_t told = bytes;
  core_.send_control(*this, header, std::as_bytes(std::span(&told, 1)));
}

std::uint64_t SendConnection::send(std::byte* data, std::size_t bytes, const Area& area) {
  check();
  const std::uint64_t sequence = next();
  part(sequence).borrowed = false;
  if (is_eager(bytes))
    send_eager(data, bytes, area);
  else
    send_long(sequence, data, bytes, area.regions(), Length::before);
  grants_.use();
  return sequence;
}

std::uint64_t SendConnection::send_unregistered(const std::byte* data, std::size_t bytes) {
  check();
  // libfabric's regions and sends take pointers to non-const, and only read.
  std::byte* from = const_cast<std::byte*>(data);
  Part& mine = part(next());
  mine.borrowed = true;
  const Regions* regions = nullptr;
  if (core_.rail(0).needs_local_registration()) {
    mine.buffer = core_.user_buffers.covering(data, bytes);
    if (!mine.buffer)
      for (const auto& rail : core_.rails())
        mine.regions.push_back(rail->register_memory(from, bytes, Access::send));
    regions = mine.buffer ? &mine.buffer->regions : &mine.regions;
  }
  const std::uint64_t sequence = next();
  send_long(sequence, from, bytes, regions, Length::before);
  grants_.use();
  return sequence;
}

void SendConnection::send_into(std::uint64_t receive, const std::byte* data, std::size_t bytes,
                               const Regions* regions) {
  part(receive).borrowed = true;
  send_long(receive, const_cast<std::byte*>(data), bytes, regions, Length::apart);
  grants_.use(receive);
}

std::uint64_t SendConnection::send_copy_into(std::uint64_t receive, const std::byte* data,
                                             std::size_t bytes) {
  Header header = to_peer(Kind::eager);
  header.sequence = static_cast<std::uint32_t>(receive);
  grants_.use(receive);
  core_.send_copy(*this, header, {}, {data, bytes});
  return copies_++;
}

std::uint64_t SendConnection::send_ahead(const Ahead& ahead, int tag, const std::byte* data,
                                         std::size_t bytes) {
  Header header = to_peer(Kind::ahead);
  header.count = static_cast<std::uint32_t>(tag);
  core_.send_copy(*this, header, std::as_bytes(std::span(&ahead, 1)), {data, bytes});
  return copies_++;
}

bool SendConnection::sent(std::uint64_t sequence) const {
  // A message older than the window has left, because a later one has its place.
  const std::uint64_t oldest = next() > shape_.slots ? next() - shape_.slots : 0;
  for (std::uint64_t n = std::max(oldest, over_); n <= sequence; ++n) {
    if (part(n).under_way == 0) continue;
    check();
    return false;
  }
  return true;
}

bool SendConnection::at_rest() {
  for (const Link& link : peer_.links)
    for (const Request* r = link.under_way.front(); r != nullptr; r = r->next)
      if (r->owner == this && r->buffer == nullptr && part(r->sequence).borrowed) return false;
  // Its owner may unmap it now.
  for (Part& part : parts_) {
    part.regions.clear();
    part.buffer.reset();
  }
  return true;
}

void SendConnection::completed(const Request& request, std::size_t) {
  if (request.buffer != nullptr) {
    if (!is_control(request)) ++copies_left_;
    return;
  }
  Part& done = part(request.sequence);
  if (--done.under_way > 0) return;
  done.regions.clear();
  done.buffer.reset();
}

bool SendConnection::on_message(const Header& header, std::byte* payload, Request&) {
  switch (header.kind) {
    case Kind::welcome:
      if (header.bytes == sizeof(Welcome) && !open_) {
        welcome_.emplace();
        std::memcpy(&*welcome_, payload, sizeof(Welcome));
      }
      break;
    case Kind::credits: on_credits(header, payload); break;
    case Kind::goodbye: on_goodbye(header, payload); break;
    case Kind::failure: on_failure(header, payload); break;
    case Kind::fate: on_fate(header, payload); break;
    case Kind::ping: break;
    default: base::log_warn("NET/OFI {}: drops a message of kind {}", label(), int(header.kind));
  }
  return false;
}

void SendConnection::on_credits(const Header& header, const std::byte* payload) {
  const std::size_t each = credit_bytes(links_);
  const std::uint64_t first = extend(header.sequence, next());
  for (std::size_t i = 0; (i + 1) * each <= header.bytes; ++i)
    grants_.grant(first + i, decode_credit(payload + i * each, links_));
  grants_.done(extend(header.count, grants_.done()));
}

void SendConnection::ask_for(const Request& write) {
  const Fate fate{unpack(static_cast<std::uint32_t>(write.tag)).stripe, write.attempts, 0};
  Header header = to_peer(Kind::fate);
  header.sequence = static_cast<std::uint32_t>(write.sequence);
  core_.send_control(*this, header, std::as_bytes(std::span(&fate, 1)));
}

void SendConnection::on_fate(const Header& header, const std::byte* payload) {
  Fate fate;
  if (header.bytes != sizeof fate) return;
  std::memcpy(&fate, payload, sizeof fate);
  const auto is_meant = [&](const Request& request) {
    return request.owner == this && request.asked && request.attempts == fate.attempt &&
           static_cast<std::uint32_t>(request.sequence) == header.sequence &&
           unpack(static_cast<std::uint32_t>(request.tag)).stripe == fate.stripe;
  };
  core_.decide(peer_, is_meant, fate.came != 0);
}

void SendConnection::on_goodbye(const Header& header, const std::byte* payload) {
  goodbye_received_ = true;
  over_ = extend(header.count, next());
  const std::string reason(reinterpret_cast<const char*>(payload), header.bytes);
  if (!retired_)
    fail(heddleRemoteError, "the receiver closed it" + (reason.empty() ? "" : ": " + reason));
  core_.closing(*this);
}

// Given up before its welcome: the receiver may be waiting for messages already, with slots that it
// keeps until a goodbye. It makes pipes for no longer than its operations wait.
void SendConnection::retire(Area memory) {
  Connection::retire(std::move(memory));
  if (!open_ && nonce_ != decltype(nonce_){})
    welcome_until_ = base::Deadline(base::Seconds(core_.settings().timeout));
}

void SendConnection::step_closing() {
  if (!open_ && retired_) {
    const std::optional<Welcome> welcome = take_welcome();
    if (!welcome || !expects(*welcome)) return;
    open(*welcome);
  }
  // Everything sent must have left before its count is told. What has been dropped has no request
  // any more and never got through.
  if (goodbye_sent_ || outstanding_ != 0) return;
  const auto dropped =
      std::ranges::count_if(parts_, [](const Part& part) { return part.under_way != 0; });
  send_goodbye(messages_ - static_cast<std::uint64_t>(dropped) + copies_left_);
}

bool SendConnection::drained() const {
  if (!open_ || !peer_.dead.empty()) return true;
  return goodbye_sent_ && (error_ || (goodbye_received_ && outstanding_ == 0));
}

}  // namespace heddle::transport::fabric
