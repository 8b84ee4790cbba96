// One adapter's share of the script: what befalls it now. Under the lock of its domain.
#pragma once

#include <cstdint>
#include <vector>

#include "errors.hpp"
#include "script.hpp"

namespace emulated_efa {

// Lets bytes through at a rate, on a clock of its own: a thread that the scheduler kept away from a
// queue of work catches up, one that had no work does not.
class Pacer {
 public:
  explicit Pacer(double bytes_per_second = 0) : rate_(bytes_per_second) {}

  bool may_go(Clock::time_point now) const { return rate_ == 0 || next_ <= now; }
  // When these bytes are through that might begin at `earliest`.
  Clock::time_point take(std::size_t bytes, Clock::time_point earliest) {
    if (rate_ == 0) return earliest + span(bytes);
    return next_ = std::max(next_, earliest) + span(bytes);
  }
  Nanoseconds span(std::size_t bytes) const {
    if (rate_ == 0) return {};
    const auto seconds = std::chrono::duration<double>(static_cast<double>(bytes) / rate_);
    return std::chrono::duration_cast<Nanoseconds>(seconds);
  }

 private:
  double rate_;
  Clock::time_point next_{};
};

// The longest absence that is caught up.
inline constexpr Nanoseconds kCatchUp = std::chrono::milliseconds(50);

class Faults {
 public:
  Faults(const Script& script, int adapter, Clock::time_point opened);

  // Asked at every post: true means -FI_EAGAIN.
  bool again(Clock::time_point now);

  // Counts an operation that was accepted, and says how it shall end.
  struct Fate {
    int status = kFine;   // what its completion will say whatever happens, unless kFine
    bool travels = true;  // the data is sent
  };
  Fate accepted(Clock::time_point now);

  bool dead(Clock::time_point now) const { return within(Fault::dead, now); }
  bool hung(Clock::time_point now) const { return within(Fault::hang, now); }
  Nanoseconds delay() const { return delay_; }
  Pacer sending, receiving;

 private:
  struct Armed {
    Rule rule;
    std::optional<Clock::time_point> begun;
  };
  bool within(Fault fault, Clock::time_point now) const;
  static bool active(const Armed& armed, Clock::time_point now);

  std::vector<Armed> armed_;
  Nanoseconds delay_{};
  std::uint64_t operations_ = 0;
  std::uint64_t attempts_ = 0;  // within the cycles of `again every`
};

}  // namespace emulated_efa
