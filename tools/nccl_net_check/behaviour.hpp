// What a plugin must do, one row each. A behaviour runs in processes of its own, once in each of
// them on the progress thread; what it throws is what the plugin does wrong.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nccl_net_check/rank.hpp"

namespace heddle::net_check {

struct Finding {
  Finding(std::string text = "", bool worth_a_note = false)  // NOLINT: a text is a finding
      : detail(std::move(text)), note(worth_a_note) {}
  std::string detail;
  bool note;         // allowed, but the user should know
  std::string data;  // JSON, of the measurements
};

struct Behaviour {
  const char* name;
  const char* meaning;
  Finding (*run)(Rank& rank);
  int processes = 0;       // 0: as many as the user asks for
  bool required = true;    // otherwise a failure is a note
  bool raw = false;        // it calls init and finalize itself
  bool last_dies = false;  // the last rank kills itself, which is no fault
  double extra = 0;        // seconds that it may take beyond those of the others
  bool shows_log = false;  // what the plugin logs goes to standard error
};

const std::vector<Behaviour>& behaviours();

// What stands at the head of the table: name, version and device, as JSON in Finding::data.
Finding describe(Rank& rank);
// Half round trips and bandwidth, as JSON in Finding::data. Two processes.
Finding measure(Rank& rank);

// clang-format off
namespace setup {
Finding init(Rank&); Finding properties(Rank&); Finding reload(Rank&); Finding one_thread(Rank&);
Finding all_ranks(Rank&); Finding accept_again(Rank&); Finding half_open(Rank&);
Finding vanished(Rank&); Finding abandoned(Rank&);
}
namespace messages {
Finding sizes(Rank&); Finding zero_bytes(Rank&); Finding unaligned(Rank&);
Finding in_flight(Rank&); Finding order(Rank&); Finding send_first(Rank&);
Finding receive_first(Rank&); Finding no_sizes(Rank&); Finding optional_completion(Rank&);
Finding many_comms(Rank&); Finding register_meanwhile(Rank&); Finding flush(Rank&);
}
namespace matching {
Finding receive_larger(Rank&); Finding receive_smaller(Rank&); Finding grouped(Rank&);
Finding tags(Rank&);
}
namespace ends {
Finding sender_closes(Rank&); Finding receiver_closes(Rank&); Finding both_close(Rank&);
Finding peer_killed(Rank&); Finding done_then_close(Rank&);
}
namespace misuse {
Finding null_memory(Rank&); Finding other_memory(Rank&); Finding forked(Rank&);
Finding forked_comm(Rank&);
}
namespace cost {
Finding idle(Rank&); Finding memory(Rank&);
}
// clang-format on

}  // namespace heddle::net_check
