// The half of Core that hands requests to libfabric, and keeps those that it does not take yet.
#include "transport/fabric/connection.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr std::size_t kControlBuffersAtOnce = 64;
// The header ends on a cache line, as in a bounce buffer.
constexpr std::size_t kControlStride = 64 + kControlBytes;
// A peer that took posts and takes none for so long is gone, where again_means_lost.
constexpr double kLostSeconds = 4;

}  // namespace

Request& Core::request(Connection& owner, Verb verb, int rail) {
  Request& request = *requests_.take();
  request.verb = verb;
  request.rail = rail;
  request.owner = &owner;
  request.to = owner.peer().to[static_cast<std::size_t>(rail)];
  request.buffer = nullptr;
  owner.request_started();
  return request;
}

void Core::recycle(Request& request) {
  request.owner->ended(request);
  request.owner->request_ended();
  if (request.buffer != nullptr) free_control_buffers_.push_back(request.buffer);
  requests_.give(&request);
}

void Core::finish(Request& request, std::size_t bytes) {
  request.owner->completed(request, bytes);
  recycle(request);
}

// A refusal fails the connection and counts as started: nothing more comes of the request.
Core::Posted Core::try_post(Request& request) {
  try {
    const Posted posted = rail(request.rail).post(request);
    if (posted != Posted::again) request.owner->peer().reached = true;
    if (posted == Posted::done) finish(request, request.bytes);
    return posted;
  } catch (const base::Error& error) {
    Connection& owner = *request.owner;
    recycle(request);
    owner.fail(heddleRemoteError, error.what());
    return Posted::done;
  }
}

void Core::wait(Request& request) {
  Peer& peer = request.owner->peer();
  request.waiting_since = base::Clock::now();
  peer.waiting[static_cast<std::size_t>(request.rail)].push(&request);
  if (peer.is_waiting) return;
  peer.is_waiting = true;
  waiting_.push_back(&peer);
}

void Core::submit(Request& request) {
  constexpr std::size_t kSmall = 256;
  Peer& peer = request.owner->peer();
  peer.small_streak = request.bytes > kSmall ? 0 : peer.small_streak + 1;
  request.may_inject = peer.small_streak > kStreakForInject;
  // Those that wait go first.
  if (!peer.waiting[static_cast<std::size_t>(request.rail)].empty() ||
      try_post(request) == Posted::again)
    wait(request);
}

// "Again" for too long is no back-pressure: some providers answer so for ever when a peer is dead.
void Core::retry(Peer& peer) {
  bool any = false;
  for (RequestQueue& queue : peer.waiting) {
    while (!queue.empty()) {
      Request& request = *queue.pop();
      if (try_post(request) != Posted::again) continue;
      queue.push_front(&request);
      break;
    }
    if (queue.empty()) continue;
    Request& first = *queue.front();
    const double waited = base::seconds_since(first.waiting_since);
    if (again_means_lost_ && peer.reached && waited > kLostSeconds)
      peer_died(peer, fmt::format("the connection to its process is lost, {:.1f} s ago", waited));
    else if (waited > settings_.timeout)
      first.owner->fail(heddleRemoteError,
                        fmt::format("the provider accepted nothing for it in {} s (HEDDLE_TIMEOUT)",
                                    settings_.timeout));
    any = any || !queue.empty();
  }
  if (!any || peer.is_waiting) return;
  peer.is_waiting = true;
  waiting_.push_back(&peer);
}

ControlBuffer& Core::control_buffer() {
  if (free_control_buffers_.empty()) {
    const Area& area =
        control_areas_.emplace_back(rails_, kControlBuffersAtOnce * kControlStride, Access::send);
    for (std::size_t i = 0; i < kControlBuffersAtOnce; ++i) {
      std::byte* at = area.data() + i * kControlStride + 64 - sizeof(Header);
      free_control_buffers_.push_back(&control_buffers_.emplace_back(ControlBuffer{at, &area}));
    }
  }
  ControlBuffer& buffer = *free_control_buffers_.back();
  free_control_buffers_.pop_back();
  return buffer;
}

void Core::send_control(Connection& from, Header header, std::span<const std::byte> payload) {
  HEDDLE_ASSERT(payload.size() <= kControlBytes, "{} bytes", payload.size());
  ControlBuffer& buffer = control_buffer();
  header.bytes = static_cast<std::uint32_t>(payload.size());
  std::memcpy(buffer.data, &header, sizeof header);
  if (!payload.empty()) std::memcpy(buffer.data + sizeof header, payload.data(), payload.size());
  const int rail = from.control_rail();
  // A ping must tell of its failure, so it is no inject.
  const Verb verb = header.kind == Kind::ping ? Verb::ping : Verb::send;
  Request& sent = request(from, verb, rail);
  sent.buffer = &buffer;
  sent.data = buffer.data;
  sent.bytes = sizeof header + payload.size();
  sent.desc = buffer.area->desc(rail);
  submit(sent);
}

void Core::ping(Connection& from) {
  Peer& peer = from.peer();
  const bool asked = !peer.waiting[static_cast<std::size_t>(from.control_rail())].empty();
  if (!asked && peer.dead.empty()) from.send_ping();
}

}  // namespace heddle::transport::fabric
