// The two matchers against the rule itself, said in a few lines, whatever the order in which
// credits and messages arrive.
#include "transport/fabric/matching.hpp"

#include <map>
#include <random>
#include <vector>

#include "catch.hpp"

using namespace heddle::transport::fabric;

namespace {

struct Receive {
  std::vector<int> tags;
};

// Message i, by the rule, with all receives known: its buffer.
class Rule {
 public:
  explicit Rule(const std::vector<Receive>& receives) : receives_(receives) {}

  // Buffers of messages 0 to tags.size() - 1; -1: it has none yet.
  std::vector<long> buffers(const std::vector<int>& tags) const {
    std::vector<long> result(tags.size(), -1);
    long first = 0;
    for (const Receive& receive : receives_) {
      std::vector<bool> taken(receive.tags.size(), false);
      for (std::size_t m = 0; m < tags.size(); ++m) {
        if (result[m] >= 0) continue;
        for (std::size_t b = 0; b < taken.size(); ++b)
          if (!taken[b] && receive.tags[b] == tags[m]) {
            taken[b] = true;
            result[m] = first + static_cast<long>(b);
            break;
          }
      }
      if (std::find(taken.begin(), taken.end(), false) != taken.end()) break;
      first += static_cast<long>(receive.tags.size());
    }
    return result;
  }

 private:
  std::vector<Receive> receives_;
};

struct Message {
  int tag;
  bool ahead;
  std::uint64_t buffer;  // not ahead
  std::uint32_t number;  // ahead
  std::uint32_t first;   // ahead
};

}  // namespace

TEST_CASE("sender and receiver find the buffers that the rule says, in any order of events") {
  for (unsigned seed = 1; seed <= 3000; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](unsigned below) { return random() % below; };
    std::vector<Receive> receives(1 + pick(6));
    for (Receive& receive : receives) {
      receive.tags.resize(1 + pick(4));
      for (int& tag : receive.tags) tag = static_cast<int>(pick(3));
    }
    // What the sender wants to send: the receives' tags, each receive's shuffled.
    std::vector<int> wanted;
    for (const Receive& receive : receives) {
      std::vector<int> tags = receive.tags;
      std::shuffle(tags.begin(), tags.end(), random);
      wanted.insert(wanted.end(), tags.begin(), tags.end());
    }

    SendMatcher sender;
    ReceiveMatcher receiver;
    std::vector<int> sent;                               // tags, in order
    std::map<std::size_t, long> by_sender, by_receiver;  // message -> buffer
    std::deque<std::size_t> ahead_order;                 // messages that went ahead
    std::vector<Message> flying;
    std::vector<std::size_t> flying_index;
    std::size_t credits = 0, posted = 0, next_ahead = 0;
    std::vector<std::pair<int, std::uint32_t>> buffers;
    for (const Receive& receive : receives)
      for (std::size_t i = 0; i < receive.tags.size(); ++i)
        buffers.emplace_back(receive.tags[i],
                             static_cast<std::uint32_t>(receive.tags.size() - 1 - i));
    std::deque<std::size_t> pending_ahead;
    const auto placed = [&](std::uint64_t buffer, const SendMatcher::Ahead& ahead) {
      for (auto it = pending_ahead.begin(); it != pending_ahead.end(); ++it)
        if (sent[*it] == ahead.tag) {
          by_sender[*it] = static_cast<long>(buffer);
          pending_ahead.erase(it);
          return;
        }
      FAIL("a message was placed that is not ahead");
    };
    const auto settle_receiver = [&] {
      while (const auto found = receiver.next())
        by_receiver[static_cast<std::size_t>(found->cookie)] = static_cast<long>(found->buffer);
    };
    std::map<std::uint64_t, std::size_t> came_into;  // buffer -> message, not told yet
    std::uint64_t popped = 0;
    const auto pop = [&] {
      settle_receiver();
      while (true) {
        const bool direct = came_into.count(popped) != 0;
        bool ahead = false;
        for (const auto& [message, buffer] : by_receiver)
          ahead = ahead || buffer == static_cast<long>(popped);
        if (!direct && !ahead) return;
        if (direct) by_receiver[came_into[popped]] = static_cast<long>(popped);
        receiver.came_into(popped++);
        settle_receiver();
      }
    };
    for (int step = 0; step < 4000 && by_receiver.size() < wanted.size(); ++step) {
      switch (pick(4)) {
        case 0:  // a receive is posted, whole
          if (posted == buffers.size()) break;
          do receiver.add(buffers[posted].first, buffers[posted].second);
          while (buffers[posted++].second != 0);
          settle_receiver();
          break;
        case 1:  // one credit arrives
          if (credits == posted) break;
          sender.add(buffers[credits].first, buffers[credits].second, placed);
          ++credits;
          break;
        case 2: {  // the sender tries
          if (sent.size() == wanted.size()) break;
          // Now and then another of the tags that are left, as a sender with several comms would.
          const int tag = wanted[sent.size()];
          std::uint64_t buffer = 0;
          const auto answer = sender.ask(tag, buffer);
          if (answer == SendMatcher::Answer::not_now) break;
          const std::size_t index = sent.size();
          sent.push_back(tag);
          if (answer == SendMatcher::Answer::into) {
            by_sender[index] = static_cast<long>(buffer);
            flying.push_back({tag, false, buffer, 0, 0});
            sender.sent_into(buffer, placed);
          } else {
            if (sender.ahead() >= 8) {
              sent.pop_back();
              break;
            }
            const auto first = static_cast<std::uint32_t>(sender.sent_ahead(tag, 1));
            flying.push_back({tag, true, 0, static_cast<std::uint32_t>(next_ahead++), first});
            pending_ahead.push_back(index);
          }
          flying_index.push_back(index);
          break;
        }
        case 3: {  // one of those that fly arrives
          if (flying.empty()) break;
          const std::size_t which = pick(static_cast<unsigned>(flying.size()));
          const Message message = flying[which];
          const std::size_t index = flying_index[which];
          flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(which));
          flying_index.erase(flying_index.begin() + static_cast<std::ptrdiff_t>(which));
          if (message.ahead)
            REQUIRE(receiver.came_ahead(message.number, {message.tag, message.first, index}));
          else
            came_into[message.buffer] = index;
          break;
        }
      }
      pop();
    }
    INFO("seed " << seed);
    REQUIRE(by_receiver.size() == wanted.size());
    const std::vector<long> rule = Rule(receives).buffers(wanted);
    for (std::size_t m = 0; m < wanted.size(); ++m) {
      REQUIRE(rule[m] >= 0);
      REQUIRE(by_receiver[m] == rule[m]);
      if (by_sender.count(m) != 0) REQUIRE(by_sender[m] == rule[m]);
    }
  }
}

TEST_CASE("a message that has no tag of the front receive waits") {
  SendMatcher sender;
  const auto none = [](std::uint64_t, const SendMatcher::Ahead&) { FAIL("nothing was ahead"); };
  sender.add(1, 0, none);
  sender.add(2, 0, none);
  std::uint64_t buffer = 99;
  CHECK(sender.ask(2, buffer) == SendMatcher::Answer::not_now);
  REQUIRE(sender.ask(1, buffer) == SendMatcher::Answer::into);
  CHECK(buffer == 0);
  sender.sent_into(0, none);
  REQUIRE(sender.ask(2, buffer) == SendMatcher::Answer::into);
  CHECK(buffer == 1);
}

TEST_CASE("duplicates of messages ahead are known") {
  ReceiveMatcher receiver;
  CHECK(receiver.came_ahead(1, {0, 0, 11}));
  CHECK_FALSE(receiver.came_ahead(1, {0, 0, 11}));
  CHECK(receiver.came_ahead(0, {0, 0, 10}));
  CHECK_FALSE(receiver.came_ahead(0, {0, 0, 10}));
  CHECK_FALSE(receiver.next());
  receiver.add(0, 1);
  receiver.add(0, 0);
  CHECK(receiver.next()->cookie == 10);
  CHECK(receiver.next()->cookie == 11);
}

TEST_CASE("duplicates of messages sent ahead stay known when their cookies are taken") {
  ReceiveMatcher matcher;
  CHECK(matcher.came_ahead(0, {1, 0, 10}));
  CHECK(matcher.came_ahead(2, {1, 0, 12}));  // 1 is missing
  std::vector<std::uint64_t> cookies;
  matcher.take_cookies([&](std::uint64_t cookie) { cookies.push_back(cookie); });
  CHECK(cookies == std::vector<std::uint64_t>{10, 12});
  CHECK_FALSE(matcher.came_ahead(0, {1, 0, 10}));
  CHECK_FALSE(matcher.came_ahead(2, {1, 0, 12}));
  CHECK(matcher.came_ahead(1, {1, 0, 0}));
}
