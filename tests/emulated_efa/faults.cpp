#include "faults.hpp"

namespace emulated_efa {

Faults::Faults(const Script& script, int adapter, Clock::time_point opened) {
  for (const Rule& rule : script.rules) {
    if ((rule.adapters >> adapter & 1) == 0) continue;
    if (rule.fault == Fault::bandwidth) {
      sending = receiving = Pacer(rule.rate);
    } else if (rule.fault == Fault::delay) {
      delay_ = rule.time;
    } else {
      Armed armed{rule, {}};
      if (rule.when.at) armed.begun = opened + *rule.when.at;
      if (rule.when.after == 0 && rule.fault != Fault::error) armed.begun = opened;
      armed_.push_back(armed);
    }
  }
}

bool Faults::active(const Armed& armed, Clock::time_point now) {
  if (!armed.begun || now < *armed.begun) return false;
  return !armed.rule.when.lasting || now < *armed.begun + *armed.rule.when.lasting;
}

bool Faults::within(Fault fault, Clock::time_point now) const {
  for (const Armed& armed : armed_)
    if (armed.rule.fault == fault && active(armed, now)) return true;
  return false;
}

bool Faults::again(Clock::time_point now) {
  for (const Armed& armed : armed_) {
    if (armed.rule.fault != Fault::again) continue;
    if (active(armed, now)) return true;
    if (armed.rule.every == 0) continue;
    const std::uint64_t cycle = armed.rule.every + *armed.rule.when.for_ops;
    if (attempts_++ % cycle >= armed.rule.every) return true;
  }
  return false;
}

Faults::Fate Faults::accepted(Clock::time_point now) {
  ++operations_;
  Fate fate;
  for (Armed& armed : armed_) {
    const When& when = armed.rule.when;
    if (!when.after || operations_ <= *when.after) continue;
    if (armed.rule.fault == Fault::error) {
      if (operations_ > *when.after + *when.for_ops) continue;
      fate = {armed.rule.code, armed.rule.landed};
    } else if (!armed.begun) {
      armed.begun = now;
    }
  }
  return fate;
}

}  // namespace emulated_efa
