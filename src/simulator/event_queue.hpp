// Events by time, and those of one time in the order in which they were added: a run is the same
// every time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "simulator/large_array.hpp"
#include "simulator/time.hpp"

namespace heddle::simulator {

struct Event {
  Time time;
  std::uint32_t order;
  std::uint32_t what;

  bool before(const Event& other) const {
    // Wraps around: events that wait together are never half of all orders apart.
    return time != other.time ? time < other.time
                              : static_cast<std::int32_t>(order - other.order) < 0;
  }
};

// A heap of four children a node: shallower than a binary one, and a node's children share a cache
// line.
class EventQueue {
 public:
  explicit EventQueue(std::uint32_t first_order = 0) : heap_(kUnused), order_(first_order) {}

  bool empty() const { return size() == 0; }
  std::size_t size() const { return heap_.size() - kUnused; }

  void add(Time time, std::uint32_t what) {
    const Event event{time, order_++, what};
    std::size_t at = size();
    heap_.push_back(event);
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!event.before(node(parent))) break;
      node(at) = node(parent);
      at = parent;
    }
    node(at) = event;
  }

  // Requires that it is not empty.
  Event take() {
    const Event first = node(0);
    const Event last = heap_.back();
    heap_.pop_back();
    if (!empty()) sink(last);
    return first;
  }

  // Calls next(what) for the event that is next, and soon(what) for those that may come after it.
  template <typename Next, typename Soon>
  void look_ahead(Next next, Soon soon) const {
    if (empty()) return;
    next(heap_[kUnused].what);
    const std::size_t end = std::min(heap_.size(), kUnused + 5);
    for (std::size_t i = kUnused + 1; i < end; ++i) soon(heap_[i].what);
  }

 private:
  // Places before the root, so that the first child of every node begins a cache line.
  static constexpr std::size_t kUnused = 3;
  static_assert(sizeof(Event) == 16);

  Event& node(std::size_t index) { return heap_[kUnused + index]; }

  void sink(const Event& event) {
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = 4 * at + 1;
      if (first >= size()) break;
      const std::size_t end = std::min(first + 4, size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child)
        if (node(child).before(node(least))) least = child;
      if (!node(least).before(event)) break;
      node(at) = node(least);
      at = least;
    }
    node(at) = event;
  }

  LargeArray<Event> heap_;
  std::uint32_t order_;
};

}  // namespace heddle::simulator
