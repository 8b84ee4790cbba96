// How a message is shared out over the rails: so that all of them would be done at the same time,
// by the bytes that are under way on each and its speed. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::transport::fabric {

struct RailLoad {
  bool usable;
  double speed;             // any unit, the same for all; over 0
  std::uint64_t under_way;  // bytes
};

struct Stripe {
  int link;
  std::size_t bytes;
};

// Stripes of a message of `bytes` (at least 1), in the order of their bytes in the message;
// together they are the message. At most `most` of them, each a multiple of 128 bytes but the last,
// none below `least` unless it is the only one. Empty when no link is usable.
void share_out(std::size_t bytes, std::span<const RailLoad> loads, std::size_t least,
               std::size_t most, std::vector<Stripe>& stripes);

// The least stripe that is worth a request of its own: what the fastest usable link moves in 130
// us, from 8 to 64 KiB; 16 KiB while a speed (`measured`, bytes per second, by link) is not known.
// A slow rail would keep a larger stripe for long, while those beside it, whose parts were smaller,
// idle: 1 MiB over four rails of 1 Gbit/s (emulated) did 0.31 GB/s in stripes of 64 KiB, 0.41 of 16
// KiB.
std::size_t least_stripe(std::span<const double> measured, std::span<const RailLoad> loads);

// The usable link that would be done first with a small message; among equals the first in
// `preference` (a permutation of the links). -1 when none is usable.
int least_loaded(std::span<const RailLoad> loads, std::span<const int> preference);

// The speed of one link as its completions show it. Only time in which something was under way
// counts.
//
// A completion comes back against the peer's own traffic, so the first one of a busy time is late
// by what is queued there. Were that counted, each end would find the links slow that the other end
// uses, leave them to it, and the two would end up with half of the links in each direction. So
// what comes after the first completions decides where it is known. Thread rule: as the link.
class Goodput {
 public:
  // Between these, something is under way. Seconds on any clock.
  void started(double now);
  void ended() { busy_ = false; }
  // `bytes` are through.
  void through(std::size_t bytes, double now);
  // Bytes per second; 0 while unknown.
  double value() const { return std::max(steady_.value, whole_.value); }

 private:
  struct Rate {
    double bytes = 0, seconds = 0;  // of the sample
    double value = 0;

    void add(double more_bytes, double more_seconds);
  };

  bool busy_ = false;
  bool any_through_ = false;  // in this busy time
  double first_ = 0;          // when that was
  double since_ = 0;          // until which time is counted
  Rate whole_;                // of all busy time: not above the speed
  Rate steady_;               // without the first completions
};

// Speeds to share out by. Measured ones where all are known, but taken as equal when they lie
// within a half of each other (noise must not tilt equal rails; a rail that is somewhat slower has
// more under way, and so gets less anyhow), and never below a twentieth of the fastest, so that a
// rail that was slow is seen again. Else the nominal ones where all are known; else equal. Speeds
// of unusable links do not count.
void settle_speeds(std::span<const double> measured, std::span<const double> nominal,
                   std::span<RailLoad> loads);

}  // namespace heddle::transport::fabric
