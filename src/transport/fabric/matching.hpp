// Which receive a message is for, where receives come in groups and messages have tags: a message
// goes into the first free buffer with its tag of the first receive that still has free buffers,
// and into none behind that one. Messages whose tag it lacks wait, the oldest first, until it is
// full. Both ends follow the rule and come to the same answer; that is what these two classes do.
//
// The sender mostly knows the receive and names it. Before it knows of any free one it may send
// small messages ahead, told only "for no receive before this number". When a receive comes to the
// front of the sender's list, those take their places in it first, in order. The receiver can do
// the same: whatever named its place took one that they had left.
//
// Pure: no transport, no clock. A receive's buffers are numbered through, over all receives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace heddle::transport::fabric {

// The buffers of all receives that have free ones, front receive first.
class OpenReceives {
 public:
  struct Buffer {
    int tag;
    std::uint32_t after;  // so many more of the same receive follow
    bool taken;
  };

  void add(int tag, std::uint32_t after) { buffers_.push_back({tag, after, false}); }
  std::uint64_t first() const { return first_; }
  std::uint64_t end() const { return first_ + buffers_.size(); }
  bool empty() const { return buffers_.empty(); }
  // Whether all buffers of the front receive are here.
  bool front_is_whole() const { return !empty() && buffers_.size() > buffers_.front().after; }
  // The first free buffer of the front receive with that tag.
  std::optional<std::uint64_t> find(int tag) const {
    if (!front_is_whole()) return std::nullopt;
    for (std::size_t i = 0; i <= buffers_.front().after; ++i)
      if (!buffers_[i].taken && buffers_[i].tag == tag) return first_ + i;
    return std::nullopt;
  }
  // True when that made the front receive full, so that another one is in front.
  bool take(std::uint64_t number) {
    buffers_[static_cast<std::size_t>(number - first_)].taken = true;
    bool moved = false;
    while (front_is_whole() && front_is_full()) {
      const std::size_t count = buffers_.front().after + 1;
      buffers_.erase(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(count));
      first_ += count;
      moved = true;
    }
    return moved;
  }

 private:
  bool front_is_full() const {
    const auto last = buffers_.begin() + buffers_.front().after + 1;
    return std::all_of(buffers_.begin(), last, [](const Buffer& b) { return b.taken; });
  }

  std::deque<Buffer> buffers_;
  std::uint64_t first_ = 0;
};

class SendMatcher {
 public:
  struct Ahead {
    int tag;
    std::size_t bytes;
  };
  enum class Answer { into, ahead, not_now };

  // The receiver's next buffer. `placed(buffer, ahead)` is called for each message sent ahead that
  // now has its place.
  template <typename Placed>
  void add(int tag, std::uint32_t after, Placed placed) {
    receives_.add(tag, after);
    place(placed);
  }
  // What to do with the next message; `buffer` is set for Answer::into. Changes nothing.
  Answer ask(int tag, std::uint64_t& buffer) const {
    if (receives_.empty()) return Answer::ahead;
    const std::optional<std::uint64_t> found = receives_.find(tag);
    if (!found) return Answer::not_now;
    buffer = *found;
    return Answer::into;
  }
  template <typename Placed>
  void sent_into(std::uint64_t buffer, Placed placed) {
    if (receives_.take(buffer)) place(placed);
  }
  // Returns the least buffer that it may get.
  std::uint64_t sent_ahead(int tag, std::size_t bytes) {
    ahead_.push_back({tag, bytes});
    return receives_.end();
  }
  std::size_t ahead() const { return ahead_.size(); }

 private:
  template <typename Placed>
  void place(Placed placed) {
    for (auto it = ahead_.begin(); it != ahead_.end();) {
      const std::optional<std::uint64_t> found = receives_.find(it->tag);
      if (!found) {
        ++it;
        continue;
      }
      placed(*found, *it);
      ahead_.erase(it);
      receives_.take(*found);
      it = ahead_.begin();  // another receive may be in front, where an older one fits
    }
  }

  OpenReceives receives_;
  std::deque<Ahead> ahead_;  // that have no place yet
};

class ReceiveMatcher {
 public:
  struct Ahead {
    int tag;
    std::uint32_t first_receive;  // low 32 bits
    std::uint64_t cookie;         // the caller's
  };
  struct Placed {
    std::uint64_t buffer;
    std::uint64_t cookie;
  };

  void add(int tag, std::uint32_t after) { receives_.add(tag, after); }
  // A message that named its place has come.
  void came_into(std::uint64_t buffer) {
    if (buffer >= receives_.first()) receives_.take(buffer);
  }
  // One sent ahead has come: its number among those, in any order. False: a duplicate.
  bool came_ahead(std::uint32_t number, const Ahead& message) {
    const std::uint32_t place = number - next_number_;
    if (place >= kMostEarly) return false;
    if (early_.size() <= place) early_.resize(place + 1);
    if (early_[place]) return false;
    early_[place] = message;
    while (!early_.empty() && early_.front()) {
      in_order_.push_back(*early_.front());
      early_.pop_front();
      ++next_number_;
    }
    return true;
  }
  // A message sent ahead whose place is known now; call until there is none.
  std::optional<Placed> next() {
    for (auto it = in_order_.begin(); it != in_order_.end(); ++it) {
      const auto first = static_cast<std::uint32_t>(receives_.first());
      if (static_cast<std::int32_t>(it->first_receive - first) > 0) return std::nullopt;
      const std::optional<std::uint64_t> found = receives_.find(it->tag);
      if (!found) continue;
      const Placed placed{*found, it->cookie};
      in_order_.erase(it);
      receives_.take(placed.buffer);
      return placed;
    }
    return std::nullopt;
  }
  // Hands out the cookies of all that have no place, and will have none. Their numbers stay, so
  // that duplicates of them are known.
  template <typename Use>
  void take_cookies(Use use) {
    for (const Ahead& one : in_order_) use(one.cookie);
    for (auto& one : early_)
      if (one) use(std::exchange(one->cookie, 0));
    in_order_.clear();
  }

  // More than the messages that were ahead and may be under way at once.
  static constexpr std::uint32_t kMostEarly = 256;

 private:
  OpenReceives receives_;
  std::deque<Ahead> in_order_;
  std::deque<std::optional<Ahead>> early_;  // by number, from next_number_
  std::uint32_t next_number_ = 0;
};

}  // namespace heddle::transport::fabric
