// Comms with an owner, and the ways in which NCCL makes them.
#pragma once

#include <optional>
#include <vector>

#include "nccl_net_check/rank.hpp"

namespace heddle::net_check {

// One comm of the plugin. Closed, on the service thread, when it goes; but never after a failure,
// which must reach the parent first.
class Comm {
 public:
  enum class Kind { listen, send, receive };

  Comm() = default;
  Comm(Rank& rank, Kind kind, void* comm) : rank_(&rank), kind_(kind), comm_(comm) {}
  Comm(Comm&& other) noexcept { *this = std::move(other); }
  Comm& operator=(Comm&& other) noexcept;
  ~Comm();

  explicit operator bool() const { return comm_ != nullptr; }
  void* get() const { return comm_; }
  Kind kind() const { return kind_; }
  Rank& rank() const { return *rank_; }
  // Throws Failure when the plugin refuses.
  void close();
  // What the plugin says is not looked at.
  void close_anyhow();
  // As NCCL leaks a listening comm that nobody connected to.
  void* forget() { return std::exchange(comm_, nullptr); }

 private:
  Result close_now();

  Rank* rank_ = nullptr;
  Kind kind_ = Kind::listen;
  void* comm_ = nullptr;
};

struct Listener {
  Comm comm;
  Handle handle{};
};
Listener listen(Rank& rank);

// One call each: no comm is "not yet". Throw Failure.
Comm try_connect(Rank& rank, Handle& handle);
Comm try_accept(const Comm& listener);

// Calls them in turn until all are there. Handles stay where they are between the calls. Throws
// Failure when nothing comes within the patience.
struct Pending {
  Handle* connect = nullptr;
  const Comm* accept = nullptr;
  Comm comm{};
};
void finish(Rank& rank, std::vector<Pending>& pending);

struct Pair {
  Comm out, in;
};
// Both ends in this process.
Pair loopback(Rank& rank);

struct Links {
  std::vector<Comm> out, in;
};
// `comms` connections from each rank to the next one; all ranks call it.
Links ring(Rank& rank, int comms = 1);
// Connections from a rank to another; both call it.
std::vector<Comm> send_comms_to(Rank& rank, int peer, int comms);
std::vector<Comm> receive_comms_from(Rank& rank, int peer, int comms);
Comm send_comm_to(Rank& rank, int peer);
Comm receive_comm_from(Rank& rank, int peer);

}  // namespace heddle::net_check
