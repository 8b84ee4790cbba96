// What all connections of a process share: rails, peers, pools, and the engine that posts requests
// and hands completions to their connections. Pipes keep it alive.
//
// Thread rule: everything under `mutex`, which is held during every verb; uncontended it costs some
// 20 ns.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>

#include "base/settings.hpp"
#include "transport/fabric/buffers.hpp"
#include "transport/fabric/keeper.hpp"
#include "transport/fabric/peer.hpp"
#include "transport/fabric/user_buffers.hpp"
#include "transport/fabric/wire.hpp"

namespace heddle::transport::fabric {

class Meeting;

inline constexpr std::uint32_t kStreakForInject = 8 * kMaxWindow;

// Whether it carries no message but what the ends tell each other of messages: that is wanted of a
// connection that has failed, too.
bool is_control(const Request& request);

class Core {
 public:
  Core(const base::Settings& settings, const ChosenProvider& provider);
  Core(const Core&) = delete;
  // Lets goodbyes and last messages leave, for at most a second.
  ~Core();

  std::mutex mutex;

  const ProcessAddress& address() const { return address_; }
  const base::Settings& settings() const { return settings_; }
  bool rma() const { return address_.rma; }
  std::size_t eager_bytes() const { return eager_bytes_; }
  // SendPipe::told_length() of a connection with that eager threshold.
  std::size_t told_length(std::size_t eager_bytes) const {
    return rma() && !tells_written_length_ && !writes_length() ? eager_bytes
                                                               : SendPipe::kEveryLength;
  }
  bool tells_written_length() const { return tells_written_length_; }
  // Whether RDMA writes bring the length of their message, kLengthBytes before the buffer, because
  // the provider does not tell it.
  bool writes_length() const {
    return rma() && !tells_written_length_ && rails_.front()->writes_length();
  }
  std::span<const std::unique_ptr<Rail>> rails() const { return rails_; }
  Rail& rail(int index) const { return *rails_[static_cast<std::size_t>(index)]; }

  // The peer with this address; makes its acquaintance first. Fails when it uses another provider.
  Peer& peer(const ProcessAddress& address);

  // A way to a process that is not a peer yet, by one of our rails and an address of its endpoint:
  // for control messages only. Null: none now. `dead` says when it led nowhere. It goes some time
  // after close_way, when all that it carried has left.
  Peer* open_way(std::uint64_t instance, int rail, std::span<const std::uint8_t> address);
  void close_way(Peer& way);

  // Gives the connection its id. The core owns it until it is retired and finished.
  Connection& add(std::unique_ptr<Connection> connection);
  // Nobody uses the connection any more; it says goodbye and goes when nothing is under way.
  void retire(Connection& connection, Area memory);
  // The connection has steps of its closing to take.
  void closing(Connection& connection);

  Request& request(Connection& owner, Verb verb, int link);
  void submit(Request& request);
  // Nothing comes from the connection's peer: asks whether it is still there. No answer means yes.
  void ping(Connection& from);
  // Header and payload in a buffer of the core's.
  void send_control(Connection& from, Header header, std::span<const std::byte> payload);
  // The same with a payload of two parts that may together be as long as an eager message.
  void send_copy(Connection& from, Header header, std::span<const std::byte> start,
                 std::span<const std::byte> data);
  // To a process and none of its connections.
  void send_control(Peer& peer, Header header, std::span<const std::byte> payload);
  // The peer's answer about a write that it was asked for: repeated unless it came.
  void decide(Peer& peer, const std::function<bool(const Request&)>& is_meant, bool came);
  // Drops the requests of a connection that wait to be posted.
  void purge(Connection& connection);
  // All connections to the peer fail.
  void peer_died(Peer& peer, const std::string& why);

  // How busy the peer's links are, by link. Valid until the next call.
  std::span<const RailLoad> loads(const Peer& peer);
  // At most so many stripes of a long message to the peer; none while no link is up.
  void stripe(const Peer& peer, std::size_t bytes, std::uint32_t most,
              std::vector<Stripe>& stripes);
  // The link for a small message; the first one when none is up (the message then waits).
  int link_for_small(const Peer& peer);

  void progress();
  // Lets whoever drives the transport between operations know that nobody else did.
  std::uint32_t polls() const { return polls_; }
  bool has_failover() const { return failover_; }
  // From now on a thread drives the transport when nobody else does.
  void keep_driving();

  // Gives a rail (0 to the number of rails - 1) a new endpoint, as when it had failed. Others take
  // over until it answers again. Only where there is failover.
  void renew(int rail, const std::string& why);
  // The provider's name, with " (EMULATED)" where an adapter is a stand-in's: for whoever reads it
  // beside figures.
  std::string shown_provider() const;
  std::vector<RailMetrics> rail_metrics() const;
  void log_opening(const ChosenProvider& provider) const;
  void log_rails() const;

  Meeting* meeting = nullptr;  // gets introductions, where processes meet by handles
  std::deque<Hello> hellos;    // that no accept() has taken yet
  UserBuffers user_buffers;

 private:
  using Posted = Rail::Posted;
  using TimePoint = base::Clock::time_point;

  // acquaintance.cpp: the rails, and the links to another process
  void pair_links(Peer& peer);
  void clear_ways();

  // core.cpp: completions, and connections that come and go
  // Until a reading gives fewer than `fewest` completions.
  void poll(Rail& rail, int most_readings, std::size_t fewest);
  // All that there are.
  void drain(Rail& rail);
  void on_completion(Rail& rail, const fi_cq_data_entry& entry);
  void on_failure(Rail& rail, const Rail::Failure& failure);
  void on_immediate(const fi_cq_data_entry& entry);
  bool on_message(Request& bounce, std::size_t bytes);
  bool on_hello(const Header& header, const std::byte* payload);
  void step_closing();

  // posting.cpp: from the caller to libfabric
  Request& request(Peer& peer, Verb verb, int link);
  Request& control_message(Request& request, ControlBuffer& buffer, const Header& header,
                           std::span<const std::byte> payload);
  void start(Request& request);
  Posted try_post(Request& request);
  void leave(Request& request, bool through);
  void finish(Request& request, std::size_t bytes);
  void recycle(Request& request);
  void wait(Request& request);
  void retry(Peer& peer);

  // failover.cpp: when a link or a rail fails
  void failed(Request& request, const std::string& why);
  void probe_failed(Request& request, const std::string& why);
  void fail_link(Peer& peer, int link, const std::string& why, base::LogLevel level);
  void hold(Request& request);
  void release_held(Peer& peer);
  void withdraw_waiting(Link& link, const std::string& why);
  void ask_to_close(Peer& peer, int link);
  void retire_rails();
  void retire_rail(int rail, const std::string& why);
  void reopen_rail(int rail);
  template <typename Use>
  void each_link_of(int rail, Use use);

  // probing.cpp: until a link is up, and whether it still is
  void send_rail_state(Peer& peer, int link, std::uint32_t refuses = 0);
  void on_refusal(Peer& peer, int link);
  void learn_end(Peer& peer, int link, const RailEnd& end);
  void on_rail_state(const Header& header, const std::byte* payload);
  void send_probe(Peer& peer, int link, Kind kind, std::uint32_t number);
  void on_probe(const Header& header, const std::byte* payload);
  void answer(Peer& peer, const Probe& probe);
  void link_is_up(Peer& peer, int link);
  void tend();
  void tend(Peer& peer, TimePoint now);
  void tend_up(Peer& peer, int link, TimePoint now);
  void tend_down(Peer& peer, int link, TimePoint now);
  bool is_only_way(int rail) const;
  bool serves_a_single(int rail) const;
  Peer* peer_with(std::uint64_t instance) const;

  // report.cpp
  std::string name_of(const Peer& peer, const Link& link) const;
  std::string state_of_links(const Peer& peer) const;

  Connection* find(std::uint32_t id) const;
  bool drained() const;

  base::Settings settings_;
  bool again_means_lost_;
  bool failover_;
  std::size_t eager_bytes_;
  bool tells_written_length_;
  std::size_t probe_bytes_;
  ProcessAddress address_;
  std::vector<std::unique_ptr<Rail>> rails_;  // first: closed last
  BufferPool control_buffers_;
  BufferPool probe_buffers_;
  BufferPool eager_buffers_;
  RequestPool requests_;
  std::map<std::uint64_t, std::unique_ptr<Peer>> peers_;
  std::list<std::unique_ptr<Peer>> ways_;
  std::vector<Peer*> waiting_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by id; 0 is nobody's
  std::deque<std::uint32_t> free_ids_;                    // the longest unused first
  std::vector<Connection*> closing_;
  std::uint32_t polls_ = 0;
  std::uint64_t posts_ = 0;
  std::uint64_t not_ours_ = 0;  // messages that came

  // How a rail of ours fares, by rail.
  struct RailRecord {
    std::string retire_why;  // not empty: it gets a new endpoint when no completion is being read
    Backoff backoff;         // of tries to open it
    TimePoint reopen_at;     // while it is closed
    std::uint64_t sent_bytes = 0;
    std::uint32_t given_up = 0;   // links over it
    std::uint32_t came_back = 0;  // of those
    std::uint32_t new_endpoints = 0;
  };
  std::vector<RailRecord> records_;
  bool retiring_ = false;
  TimePoint next_tend_;
  std::deque<Probe> strangers_;  // probes of processes that we do not know yet
  std::vector<RailLoad> loads_;
  std::vector<double> measured_, nominal_;
  std::vector<int> preference_;  // our rails, the nearest first
  Keeper keeper_;                // last: its thread uses all above
};

}  // namespace heddle::transport::fabric
