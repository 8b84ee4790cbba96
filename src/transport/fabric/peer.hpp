// Another process, and the links to it: each from one of our rails to one of its own.
//
// Where there are several links and RDMA writes, a link that fails is not the end: what it carried
// goes over the others (docs/rails.md). Otherwise the one link is up from the start and its failure
// is the peer's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "transport/fabric/backoff.hpp"
#include "transport/fabric/request.hpp"
#include "transport/fabric/striping.hpp"
#include "transport/fabric/wire.hpp"

namespace heddle::transport::fabric {

struct Link {
  int rail;        // ours
  int their_rail;  // of the peer's address
  double nominal;  // Gb/s of the slower end; 0: unknown

  bool up = false;                          // may carry messages
  std::vector<std::uint8_t> their_address;  // of their endpoint; empty while it is closed
  fi_addr_t to = FI_ADDR_NOTAVAIL;          // the same, in our domain; none while ours is closed
  std::uint32_t their_generation = 0;       // of that endpoint
  std::uint32_t asked_for = 0;              // the generation that we asked them to go on to
  RequestQueue waiting;                     // posts that got -FI_EAGAIN
  RequestList under_way;                    // handed to libfabric
  std::uint64_t bytes = 0;                  // waiting and under way
  Goodput goodput;
  base::Clock::time_point last_through;  // the last success, or since when something is under way
  std::uint64_t newest_through = 0;      // the latest post that succeeded

  base::Clock::time_point up_since;

  // While it is down.
  bool was_up = false;  // ever
  base::Clock::time_point down_since;
  std::string why;
  base::LogLevel level = base::LogLevel::info;  // at which that was logged: warn if we found out
  bool told = false;                            // that it does not come up
  std::uint32_t probe = 1;                      // number of the probes since it went down
  int probes = 0;                               // under way or waiting
  base::Clock::time_point probe_at;
  Backoff backoff;  // of probes
};

// A write to an endpoint that, as far as we know, is still there.
inline bool may_land(const Request& request, const Link& link) {
  return request.verb == Verb::write && link.their_generation <= request.their_generation;
}

struct Peer {
  ProcessAddress address;
  std::vector<Link> links;
  std::vector<int> preference;  // links, those over our nearest rails first
  bool failover = false;
  RequestQueue held;        // wait for a link, or for the other end of theirs to be closed
  bool is_waiting = false;  // listed in Core::waiting_
  bool reached = false;     // a post to it has been taken
  bool ever_up = false;     // failover: a link has been up
  base::Clock::time_point none_up_since;
  // Failover: the last success on any link, or since when something is held or under way on a link
  // that is up. Posts of probes do not make a peer that takes nothing look alive.
  base::Clock::time_point silent_since;
  // Messages since a long one. An injected message gives no completion, so nobody would know of one
  // that a full socket keeps in the provider: only when the last long one must be through.
  std::uint32_t small_streak;
  std::string dead;         // why, once it is
  bool way_closed = false;  // of a way (Core::open_way): nobody needs it any more

  Link& link(int index) { return links[static_cast<std::size_t>(index)]; }
  const Link& link(int index) const { return links[static_cast<std::size_t>(index)]; }
  int link_count() const { return static_cast<int>(links.size()); }
  int up_count() const {
    return static_cast<int>(std::ranges::count_if(links, [](const Link& l) { return l.up; }));
  }
  bool has_waiting() const {
    return !held.empty() ||
           std::ranges::any_of(links, [](const Link& link) { return !link.waiting.empty(); });
  }
};

}  // namespace heddle::transport::fabric
