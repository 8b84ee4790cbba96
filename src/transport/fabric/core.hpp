// What all connections of a process share: rails, peers, pools, and the engine that posts requests
// and hands completions to their connections. Pipes keep it alive.
//
// Thread rule: everything under `mutex`, which is held during every verb; uncontended it costs some
// 20 ns.
#pragma once

#include <deque>
#include <map>
#include <mutex>

#include "base/settings.hpp"
#include "transport/fabric/rail.hpp"
#include "transport/fabric/wire.hpp"

namespace heddle::transport::fabric {

inline constexpr std::uint32_t kStreakForInject = 16 * kMaxWindow;

// Another process. Never forgotten: there are as many as processes in the job.
struct Peer {
  ProcessAddress address;
  std::vector<fi_addr_t> to;          // one a rail
  std::vector<RequestQueue> waiting;  // posts that got -FI_EAGAIN, one queue a rail
  bool is_waiting = false;            // listed in Core::waiting_
  bool reached = false;               // a post to it has been taken
  // Messages since a long one. An injected message gives no completion, so nobody would know of one
  // that a full socket keeps in the provider: only when the last long one must be through.
  std::uint32_t small_streak = kStreakForInject;
  std::string dead;  // why, once it is

  int rails() const { return static_cast<int>(to.size()); }
};

// Holds one message of ours that is no payload, while it is under way.
struct ControlBuffer {
  std::byte* data;
  const Area* area;
};

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
  std::span<const std::unique_ptr<Rail>> rails() const { return rails_; }
  Rail& rail(int index) const { return *rails_[static_cast<std::size_t>(index)]; }

  // The peer with this address; makes its acquaintance first. Fails when it uses another provider.
  Peer& peer(const ProcessAddress& address);

  // Gives the connection its id. The core owns it until it is retired and finished.
  Connection& add(std::unique_ptr<Connection> connection);
  // Nobody uses the connection any more; it says goodbye and goes when nothing is under way.
  void retire(Connection& connection, Area memory);
  // The connection has steps of its closing to take.
  void closing(Connection& connection);

  Request& request(Connection& owner, Verb verb, int rail);
  void submit(Request& request);
  // Nothing comes from the connection's peer: asks whether it is still there. No answer means yes.
  void ping(Connection& from);
  // Header and payload in a buffer of the core's.
  void send_control(Connection& from, Header header, std::span<const std::byte> payload);
  // Drops the requests of a connection that wait to be posted.
  void purge(Connection& connection);
  // All connections to the peer fail.
  void peer_died(Peer& peer, const std::string& why);

  void progress();

  std::deque<Hello> hellos;  // that no accept() has taken yet

 private:
  using Posted = Rail::Posted;
  ControlBuffer& control_buffer();
  Posted try_post(Request& request);
  void finish(Request& request, std::size_t bytes);
  void recycle(Request& request);
  void wait(Request& request);
  void retry(Peer& peer);
  void poll(Rail& rail);
  void on_completion(Rail& rail, const fi_cq_data_entry& entry);
  void on_failure(const Rail::Failure& failure);
  void on_immediate(std::uint64_t data);
  bool on_message(Request& bounce, std::size_t bytes);
  Connection* find(std::uint32_t id) const;
  bool drained() const;

  base::Settings settings_;
  bool again_means_lost_;
  std::size_t eager_bytes_;
  ProcessAddress address_;
  std::vector<std::unique_ptr<Rail>> rails_;  // first: closed last
  std::deque<Area> control_areas_;
  std::deque<ControlBuffer> control_buffers_;
  std::vector<ControlBuffer*> free_control_buffers_;
  RequestPool requests_;
  std::map<std::uint64_t, std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> waiting_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by id; 0 is nobody's
  std::deque<std::uint32_t> free_ids_;                    // the longest unused first
  std::vector<Connection*> closing_;
  std::uint32_t polls_ = 0;
};

}  // namespace heddle::transport::fabric
