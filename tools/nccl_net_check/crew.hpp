// The processes of a behaviour: started, watched, ended by a deadline, and reaped.
#pragma once

#include <string>

#include "nccl_net_check/behaviour.hpp"

namespace heddle::net_check {

enum class Verdict { pass, note, skip, fail };
const char* name_of(Verdict verdict);

struct Outcome {
  Verdict verdict = Verdict::pass;
  std::string detail;
  double seconds = 0;
  std::string data;  // Finding::data of the rank that has some
};

// Whatever the plugin does, this returns within a time that the settings bound. Fails with
// base::Error only when processes cannot be started.
Outcome run(const Behaviour& behaviour, const Settings& settings);

}  // namespace heddle::net_check
