// What a meeting (meeting.hpp) carries: handles, which a program passes on as bytes, and the
// introductions of two processes to each other, proved with the handle's secret. And the list of
// the introductions that came to one listener.
//
// Pure: no transport, and no clock but the times that it is given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "base/hash.hpp"
#include "transport/fabric/wire.hpp"

namespace heddle::transport::fabric {

inline constexpr std::size_t kHandleBytes = 120;
inline constexpr std::size_t kHandleSecretBytes = 16;

using Nonce = std::array<std::uint8_t, 16>;

// Where to introduce oneself.
struct Handle {
  std::uint32_t listener = 0;
  std::uint64_t instance = 0;  // its process
  std::uint32_t path = 0;      // path_of its address
  PipeSecret secret{};         // kHandleSecretBytes that nobody guesses, then zeros
  struct End {
    std::uint32_t network = 0;  // network_of its rail; 0: none is known
    std::vector<std::uint8_t> address;
  };
  std::vector<End> ends;  // of its rails
};

// What both processes must have in common, as a number: provider, protocol and path.
std::uint32_t path_of(const ProcessAddress& address);
// Tells the networks of rails apart; 0 of "".
std::uint32_t network_of(std::string_view network);

// At most kHandleBytes: ends for which there is no room are left out.
std::vector<std::byte> encode(const Handle& handle);
// Fails with heddleInvalidArgument when the bytes are no handle of this version.
Handle decode_handle(std::span<const std::byte> bytes);

// An introduction or the answer to it.
struct Introduction {
  std::uint64_t to_instance = 0;
  std::uint32_t listener = 0;
  bool refused = false;  // an answer whose text is the reason, not an address
  Nonce nonce{};         // of the call
  std::string text;      // the process's address; at most kMostIntroduction bytes
  base::Hash mac{};      // as it came

  bool sealed_by(const PipeSecret& secret) const;
};
inline constexpr std::size_t kMostIntroduction = kControlBytes - 64;

std::vector<std::byte> sealed(const Introduction& introduction, const PipeSecret& secret);
// Nothing: it cannot be one. Whether it is genuine, sealed_by says.
std::optional<Introduction> open_introduction(std::span<const std::byte> message);

// A process that introduced itself to a listener, and what it was answered.
struct Visit {
  std::string address;
  std::string answer;  // ours, or why not; "" until it is taken
  bool refused = false;
  std::size_t answers = 0;  // sent so far
  base::Clock::time_point last_came;
};

class Visits {
 public:
  using TimePoint = base::Clock::time_point;

  // An introduction came. The visit, when it has been taken before: its answer was lost, or is
  // under way. Introductions beyond so many visits at once are dropped.
  Visit* came(const Nonce& nonce, const std::string& address, TimePoint now);
  // The visit that waits longest, to be given its answer; nothing when none does.
  std::optional<Nonce> take();
  Visit& at(const Nonce& nonce) { return known_.at(nonce); }
  // Drops those that last came before `then`: whoever still calls comes again.
  void forget_before(TimePoint then);
  std::size_t size() const { return known_.size(); }

  static constexpr std::size_t kMost = 1 << 14;

 private:
  std::map<Nonce, Visit> known_;
  std::deque<Nonce> waiting_;  // not taken yet
};

}  // namespace heddle::transport::fabric
