// What has arrived of the messages under way on one connection, in whatever order it arrives.
// Message n may be under way while next <= n < next + slots.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "transport/fabric/wire.hpp"

namespace heddle::transport::fabric {

class Arrivals {
 public:
  struct Arrival {
    std::uint32_t stripes_seen = 0;  // one bit each
    std::uint32_t stripes = 0;       // 0: nothing yet
    bool whole = false;
    std::size_t bytes = 0;      // its length; 0: not told
    std::byte* data = nullptr;  // where it lies; null: in the posted buffer
    std::uint64_t cookie = 0;   // the caller's
  };

  explicit Arrivals(std::uint32_t slots) : arrivals_(slots) {}

  std::uint64_t next() const { return next_; }
  // Messages that have arrived whole, since the start.
  std::uint64_t arrived() const { return arrived_; }
  bool expects(std::uint64_t sequence) const {
    return sequence >= next_ && sequence < next_ + arrivals_.size() && !at(sequence).whole;
  }
  // Whether that stripe has arrived.
  bool has(std::uint64_t sequence, std::uint32_t stripe) const {
    if (sequence < next_ || sequence >= next_ + arrivals_.size()) return sequence < next_;
    return at(sequence).whole || (at(sequence).stripes_seen >> stripe & 1) != 0;
  }
  // The next message in order, or null when it is not whole yet.
  Arrival* front() { return at(next_).whole ? &at(next_) : nullptr; }
  void pop() { at(next_++) = {}; }
  // Hands out every cookie, also those behind a gap. The arrivals stay, so that duplicates of them
  // are known.
  template <typename Use>
  void take_cookies(Use use) {
    for (Arrival& arrival : arrivals_)
      if (const std::uint64_t cookie = std::exchange(arrival.cookie, 0); cookie != 0) use(cookie);
  }

  // One stripe, of `bytes` where that is told and 0 elsewhere, of the message whose sequence ends
  // in these 8 bits. False: none that is expected, or a duplicate.
  bool stripe(const Immediate& immediate, std::size_t bytes) {
    const std::uint64_t sequence =
        next_ + static_cast<std::uint8_t>(immediate.sequence - static_cast<std::uint8_t>(next_));
    if (!expects(sequence) || immediate.stripe >= immediate.stripes) return false;
    Arrival& arrival = at(sequence);
    const std::uint32_t bit = 1u << immediate.stripe;
    if ((arrival.stripes_seen & bit) != 0) return false;
    if (arrival.stripes != 0 && arrival.stripes != immediate.stripes) return false;
    arrival.stripes = immediate.stripes;
    arrival.stripes_seen |= bit;
    arrival.bytes += bytes;
    if (std::popcount(arrival.stripes_seen) == static_cast<int>(arrival.stripes)) {
      arrival.whole = true;
      ++arrived_;
    }
    return true;
  }

  // A message that came whole. False: none that is expected, or a duplicate.
  bool message(std::uint64_t sequence, std::byte* data, std::size_t bytes, std::uint64_t cookie) {
    if (!expects(sequence) || at(sequence).stripes != 0) return false;
    at(sequence) = {0, 0, true, bytes, data, cookie};
    ++arrived_;
    return true;
  }

 private:
  Arrival& at(std::uint64_t sequence) { return arrivals_[sequence % arrivals_.size()]; }
  const Arrival& at(std::uint64_t sequence) const { return arrivals_[sequence % arrivals_.size()]; }

  std::vector<Arrival> arrivals_;
  std::uint64_t next_ = 0;
  std::uint64_t arrived_ = 0;
};

// The credits a sender holds: credit n allows one message, the n-th receive's. Pipes use them in
// order, and may use one before it is there (eager messages); messages that choose their receive
// use each when it is there, in any order.
class Grants {
 public:
  explicit Grants(std::uint32_t slots) : credits_(slots), states_(slots, State::unknown) {}

  // Credit n. False: out of the window, or known.
  bool grant(std::uint64_t sequence, const Credit& credit) {
    if (sequence < used_ || sequence >= used_ + credits_.size() ||
        states_[index(sequence)] != State::unknown)
      return false;
    credits_[index(sequence)] = credit;
    states_[index(sequence)] = State::granted;
    while (known_ < used_ + credits_.size() && states_[index(known_)] != State::unknown) ++known_;
    return true;
  }
  // How many messages the receiver is done with.
  void done(std::uint64_t count) {
    if (count > done_) done_ = count;
  }
  // All before it are used.
  std::uint64_t next() const { return used_; }
  std::uint64_t done() const { return done_; }
  // All before it have been granted or used.
  std::uint64_t known() const { return known_; }
  // Null: it has not come, or is used.
  const Credit* at(std::uint64_t sequence) const {
    const bool in_window = sequence >= used_ && sequence < used_ + credits_.size();
    return in_window && states_[index(sequence)] == State::granted ? &credits_[index(sequence)]
                                                                   : nullptr;
  }
  const Credit* front() const { return at(used_); }
  void use() { use(used_); }
  void use(std::uint64_t sequence) {
    states_[index(sequence)] = State::used;
    while (states_[index(used_)] == State::used) states_[index(used_++)] = State::unknown;
    known_ = std::max(known_, used_);
  }

 private:
  enum class State : std::uint8_t { unknown, granted, used };
  std::size_t index(std::uint64_t sequence) const { return sequence % credits_.size(); }

  std::vector<Credit> credits_;
  std::vector<State> states_;
  std::uint64_t used_ = 0;
  std::uint64_t known_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace heddle::transport::fabric
