// How a process connects to one that it knows nothing of but a handle of at most kHandleBytes: one
// sends its whole address to an endpoint that the handle names, the other answers with its own
// (wire.hpp: introduce, introduced). From then on they are peers, and a handshake follows.
//
// Both messages are proved with the secret that the handle carries. An introduction goes over
// every rail that the handle has room for, and again twice a second, so that one dead adapter does
// not matter.
//
// Thread rule: under Core::mutex.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "transport/fabric/core.hpp"
#include "transport/fabric/introduction.hpp"

namespace heddle::transport::fabric {

class Meeting {
 public:
  explicit Meeting(Core& core) : core_(core) { core_.meeting = this; }
  ~Meeting() { core_.meeting = nullptr; }
  Meeting(const Meeting&) = delete;

  // Two processes that know each other: what their handshake needs.
  struct Acquaintance {
    ProcessAddress address;
    PipeKey key;
    PipeSecret secret;
  };

  // Returns the listener's number; its handle is put into `handle`.
  std::uint32_t listen(std::vector<std::byte>& handle);
  void unlisten(std::uint32_t listener) { listeners_.erase(listener); }
  // The next caller, which has been answered. Those that cannot be peers are refused and logged.
  std::optional<Acquaintance> caller(std::uint32_t listener);

  // Calls the listener of the handle; returns the call's number. Fails with heddleInvalidArgument
  // when it is no handle, heddleInvalidUsage when its process uses another provider.
  std::uint64_t call(std::span<const std::byte> handle);
  // Nothing: no answer yet, call again. The call is over when it fails (heddleRemoteError: refused,
  // its process is gone, or no answer in HEDDLE_INIT_TIMEOUT) or answers; and when nobody has asked
  // for HEDDLE_INIT_TIMEOUT, which the next call finds.
  std::optional<Acquaintance> answer(std::uint64_t call);

  // Of the core.
  void on_introduce(const Header& header, const std::byte* payload);
  void on_introduced(const Header& header, const std::byte* payload);

 private:
  using TimePoint = base::Clock::time_point;

  struct Listener {
    PipeSecret secret;
    Visits visits;
  };
  struct Call {
    Handle handle;
    Nonce nonce{};
    std::vector<Peer*> ways;
    base::Deadline deadline{base::Seconds(0)};
    TimePoint last_asked = base::Clock::now();
    TimePoint next_try;
    std::optional<Introduction> answer;
  };

  base::Seconds patience() const { return base::Seconds(core_.settings().init_timeout); }
  void open_ways(Call& call);
  void introduce(Call& call);
  void reply(const PipeSecret& secret, const Nonce& nonce, Visit& visit);
  void forget(std::uint64_t number);
  void drop_forgotten();

  Core& core_;
  std::map<std::uint32_t, Listener> listeners_;
  std::map<std::uint64_t, Call> calls_;
  std::uint32_t next_listener_ = 1;
  std::uint64_t next_call_ = 1;
};

}  // namespace heddle::transport::fabric
