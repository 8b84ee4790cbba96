#include "transport/fabric/connection.hpp"

#include <sodium.h>

#include <algorithm>

namespace heddle::transport::fabric {

Connection::Connection(Core& core, Peer& peer, std::string label)
    : core_(core),
      peer_(peer),
      links_(peer.link_count()),
      label_(std::move(label)),
      token_(randombytes_random()) {}

void Connection::fail(heddleResult_t code, const std::string& what) {
  if (error_) return;
  error_.emplace(code, fmt::format("{}: {}", label_, what));
  base::log_debug("NET/OFI {}", error_->what());
  core_.purge(*this);
}

void Connection::fail_both(heddleResult_t code, const std::string& what) {
  if (std::exchange(failure_known_, true)) return;
  if (open_ && peer_.dead.empty()) {
    Header header = to_peer(Kind::failure);
    header.count = static_cast<std::uint32_t>(code);
    core_.send_control(*this, header,
                       std::as_bytes(std::span(what)).first(std::min(what.size(), kControlBytes)));
  }
  fail(code, what);
}

void Connection::on_failure(const Header& header, const std::byte* payload) {
  const std::string what(reinterpret_cast<const char*>(payload), header.bytes);
  failure_known_ = true;
  const bool misused = header.count == static_cast<std::uint32_t>(heddleInvalidUsage);
  fail(misused ? heddleInvalidUsage : heddleRemoteError, "the other end: " + what);
  core_.closing(*this);
  core_.keep_driving();  // it waits for our goodbye, and whoever uses this end may call no verb
}

void Connection::retire(Area memory) {
  retired_ = true;
  memory_ = std::move(memory);
}

void Connection::send_goodbye(std::uint64_t messages, std::string_view reason) {
  goodbye_sent_ = true;
  if (!open_ || !peer_.dead.empty()) return;
  Header header = to_peer(Kind::goodbye);
  header.count = static_cast<std::uint32_t>(messages);
  core_.send_control(*this, header, std::as_bytes(std::span(reason)));
}

void Connection::send_ping() {
  if (open_ && !error_) core_.send_control(*this, to_peer(Kind::ping), {});
}

// The clock is read rarely: this stands in every loop that waits.
void Connection::waited() {
  constexpr std::uint32_t kCallsPerLook = 256;
  if (++waits_ % kCallsPerLook != 0) return;
  if (waits_ == kCallsPerLook) {
    quiet_since_ = base::Clock::now();
    return;
  }
  // In time for tend() to find the peer silent before whoever waits for the operation gives up.
  const double quiet = std::min(1.0, core_.settings().timeout / 10);
  if (base::seconds_since(quiet_since_) > quiet) {
    quiet_since_ = base::Clock::now();
    core_.ping(*this);
  }
}

bool Connection::finished() const {
  if (!retired_ || outstanding_ != 0) return false;
  if (!peer_.dead.empty()) return true;
  return open_ ? goodbye_sent_ && goodbye_received_ && settled() : !may_open();
}

}  // namespace heddle::transport::fabric
