#include "transport/fabric/receive_connection.hpp"

#include <algorithm>

namespace heddle::transport::fabric {

ReceiveConnection::ReceiveConnection(Core& core, Peer& peer, std::string label, const Shape& shape,
                                     const Hello& hello)
    : Connection(core, peer, std::move(label)),
      shape_(shape),
      arrivals_(shape.slots),
      posted_(shape.slots),
      batch_(std::max<std::uint32_t>(1, shape.slots / 2)) {
  open_ = true;
  remote_id_ = hello.connection;
  remote_token_ = hello.token;
  shape_.eager_bytes = std::min(shape_.eager_bytes, hello.shape.eager_bytes);
  const auto fit = static_cast<std::uint32_t>(kControlBytes / credit_bytes(links_));
  batch_ = std::min(batch_, fit);
  credits_.resize(batch_ * credit_bytes(links_));
  // The pipe may read so many messages in place while others' messages still need buffers.
  if (core_.rma())
    for (const Link& link : peer_.links)
      core_.rail(link.rail).reserve_bounce_buffers(shape_.slots + kMostAhead);
}

ReceiveConnection::~ReceiveConnection() {
  if (core_.rma())
    for (const Link& link : peer_.links)
      core_.rail(link.rail).unreserve_bounce_buffers(shape_.slots + kMostAhead);
}

void ReceiveConnection::send_welcome(Welcome welcome) {
  core_.send_control(*this, to_peer(Kind::welcome), std::as_bytes(std::span(&welcome, 1)));
}

void ReceiveConnection::refuse(std::string_view reason) {
  goodbye_received_ = true;  // it has nothing to say
  send_goodbye(0, reason.substr(0, kControlBytes));
}

std::uint64_t ReceiveConnection::post(const Buffer& buffer) {
  const std::uint64_t sequence = next_post_++;
  Posted& posted = posted_[sequence % posted_.size()];
  posted.buffer = buffer.data;
  Credit credit{buffer.remote_address, buffer.bytes, buffer.tag, buffer.after, {}};
  if (core_.rma()) {
    for (int i = 0; buffer.regions != nullptr && i < links_; ++i)
      credit.keys[static_cast<std::size_t>(i)] =
          (*buffer.regions)[static_cast<std::size_t>(peer_.link(i).rail)].key();
  } else {
    const int link = static_cast<int>(sequence % static_cast<std::uint64_t>(links_));
    Request& request = core_.request(*this, Verb::tagged_receive, link);
    request.sequence = sequence;
    request.data = buffer.data;
    request.bytes = buffer.bytes;
    request.regions = buffer.regions;
    request.tag = message_tag(id(), sequence);
    posted.receive = &request;
    ++receives_;
    core_.submit(request);
  }
  encode(credit, links_, credits_.data() + pending_credits_ * credit_bytes(links_));
  if (++pending_credits_ == batch_) flush();
  if (matcher_) {
    matcher_->add(buffer.tag, buffer.after);
    place_ahead();
  }
  return sequence;
}

void ReceiveConnection::flush() {
  if (pending_credits_ == 0) return;
  Header header = to_peer(Kind::credits);
  header.sequence = static_cast<std::uint32_t>(next_post_ - pending_credits_);
  header.count = static_cast<std::uint32_t>(arrivals_.next());
  const std::size_t bytes = std::exchange(pending_credits_, 0) * credit_bytes(links_);
  core_.send_control(*this, header, {credits_.data(), bytes});
}

void ReceiveConnection::check_comes() {
  check();
  if (goodbye_received_ && settled())
    base::fail(heddleRemoteError, "{}: the sender closed it after {} messages", label(), final_);
}

const std::byte* ReceiveConnection::peek(std::size_t bytes) {
  const Arrivals::Arrival* arrival = arrivals_.front();
  if (arrival == nullptr) {
    check_comes();
    waited();
    return nullptr;
  }
  went_on();
  std::byte* const posted = posted_[arrivals_.next() % posted_.size()].buffer;
  std::uint64_t told = arrival->bytes;
  if (told == 0 && core_.writes_length()) std::memcpy(&told, posted - kLengthBytes, sizeof told);
  if (told != 0 && told != bytes)
    base::fail(heddleRemoteError, "{}: message {} has {} bytes at the sender, {} here", label(),
               arrivals_.next(), told, bytes);
  if (told == 0 && bytes <= shape_.eager_bytes)
    base::fail(heddleRemoteError, "{}: message {} has over {} bytes at the sender, {} here",
               label(), arrivals_.next(), shape_.eager_bytes, bytes);
  return arrival->data != nullptr ? arrival->data : posted;
}

void ReceiveConnection::pop() {
  const Arrivals::Arrival* arrival = arrivals_.front();
  HEDDLE_ASSERT(arrival != nullptr, "{}: release without a message", label());
  const std::uint64_t cookie = arrival->cookie;
  const std::uint64_t receive = arrivals_.next();
  arrivals_.pop();
  if (cookie != 0) return_bounce(cookie);
  if (!matcher_) return;
  matcher_->came_into(receive);
  place_ahead();
}

void ReceiveConnection::return_bounce(std::uint64_t cookie) {
  auto* const bounce = reinterpret_cast<Request*>(cookie);
  core_.rail(bounce->rail).return_bounce_buffer(*bounce);
}

void ReceiveConnection::completed(const Request& request, std::size_t bytes) {
  if (request.verb == Verb::tagged_receive) arrivals_.message(request.sequence, nullptr, bytes, 0);
}

void ReceiveConnection::ended(const Request& request) {
  if (request.verb != Verb::tagged_receive) return;
  posted_[request.sequence % posted_.size()].receive = nullptr;
  --receives_;
}

bool ReceiveConnection::on_eager(const Header& header, std::byte* payload, Request& bounce) {
  const std::uint64_t sequence = extend(header.sequence, arrivals_.next());
  const auto cookie = retired_ ? 0 : reinterpret_cast<std::uint64_t>(&bounce);
  if (!arrivals_.message(sequence, payload, header.bytes, cookie)) {
    base::log_debug("NET/OFI {}: drops stray message {}", label(), sequence);
    return false;
  }
  return cookie != 0;
}

bool ReceiveConnection::on_ahead(const Header& header, std::byte* payload, Request& bounce) {
  if (!matcher_ || header.bytes < sizeof(Ahead)) {
    base::log_warn("NET/OFI {}: drops a message ahead of {} bytes", label(), header.bytes);
    return false;
  }
  Ahead ahead;
  std::memcpy(&ahead, payload, sizeof ahead);
  const auto cookie = retired_ ? 0 : reinterpret_cast<std::uint64_t>(&bounce);
  if (!matcher_->came_ahead(ahead.number,
                            {static_cast<int>(header.count), ahead.first_receive, cookie})) {
    base::log_debug("NET/OFI {}: drops stray message {} ahead", label(), ahead.number);
    return false;
  }
  ++unplaced_;
  if (!retired_) place_ahead();
  return cookie != 0;
}

// Those that know their place now have arrived in it.
void ReceiveConnection::place_ahead() {
  while (const auto placed = matcher_->next()) {
    std::byte* const message = reinterpret_cast<Request*>(placed->cookie)->data;
    Header header;
    std::memcpy(&header, message, sizeof header);
    --unplaced_;
    arrivals_.message(placed->buffer, message + sizeof header + sizeof(Ahead),
                      header.bytes - sizeof(Ahead), placed->cookie);
  }
}

void ReceiveConnection::on_length(const Header& header, const std::byte* payload) {
  std::uint64_t bytes;
  if (header.bytes != sizeof bytes || header.count >= kMaxStripes) return;
  // A late second one may be of a message that is over.
  if (!arrivals_.expects(extend(header.sequence, arrivals_.next()))) return;
  std::memcpy(&bytes, payload, sizeof bytes);
  arrivals_.stripe(
      {id(), static_cast<std::uint8_t>(header.sequence), header.count, header.count + 1}, bytes);
}

// Our end of the link is closed, and all its completions are read: what has not come over it never
// will.
void ReceiveConnection::on_fate(const Header& header, const std::byte* payload) {
  Fate fate;
  if (header.bytes != sizeof fate) return;
  std::memcpy(&fate, payload, sizeof fate);
  if (fate.stripe >= kMaxStripes) return;
  fate.came = arrivals_.has(extend(header.sequence, arrivals_.next()), fate.stripe) ? 1 : 0;
  Header answer = to_peer(Kind::fate);
  answer.sequence = header.sequence;
  core_.send_control(*this, answer, std::as_bytes(std::span(&fate, 1)));
}

bool ReceiveConnection::on_message(const Header& header, std::byte* payload, Request& bounce) {
  switch (header.kind) {
    case Kind::eager: return on_eager(header, payload, bounce);
    case Kind::ahead: return on_ahead(header, payload, bounce);
    case Kind::length: on_length(header, payload); return false;
    case Kind::fate: on_fate(header, payload); return false;
    case Kind::failure: on_failure(header, payload); return false;
    case Kind::goodbye:
      goodbye_received_ = true;
      final_ = extend(header.count, arrivals_.next());
      core_.closing(*this);
      return false;
    case Kind::ping: return false;
    default:
      base::log_warn("NET/OFI {}: drops a message of kind {}", label(), int(header.kind));
      return false;
  }
}

bool ReceiveConnection::on_immediate(const Immediate& immediate, std::size_t bytes) {
  return arrivals_.stripe(immediate, bytes);
}

void ReceiveConnection::retire(Area memory) {
  arrivals_.take_cookies([&](std::uint64_t cookie) { return_bounce(cookie); });
  if (matcher_) matcher_->take_cookies([&](std::uint64_t cookie) { return_bounce(cookie); });
  Connection::retire(std::move(memory));
}

void ReceiveConnection::step_closing() {
  if (!goodbye_sent_ && (retired_ || settled())) send_goodbye(arrivals_.next());
  const bool nothing_comes = !peer_.dead.empty() || (goodbye_received_ && settled());
  if (!retired_ || cancelled_ || !nothing_comes) return;
  cancelled_ = true;
  core_.purge(*this);
  for (const Posted& posted : posted_)
    if (posted.receive != nullptr) core_.rail(posted.receive->rail).cancel(*posted.receive);
}

bool ReceiveConnection::drained() const {
  return error_ || (goodbye_sent_ && outstanding_ == receives_);
}

}  // namespace heddle::transport::fabric
