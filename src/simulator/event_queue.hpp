// Events by time, and those of one time in the order in which they were added: a run is the same
// every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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
  explicit EventQueue(std::uint32_t first_order = 0) : order_(first_order) {}

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }

  void add(Time time, std::uint32_t what) {
    const Event event{time, order_++, what};
    std::size_t at = heap_.size();
    heap_.push_back(event);
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!event.before(heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = event;
  }

  // Requires that it is not empty.
  Event take() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  void sink(const Event& event) {
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = 4 * at + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = first + 4 < heap_.size() ? first + 4 : heap_.size();
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child)
        if (heap_[child].before(heap_[least])) least = child;
      if (!heap_[least].before(event)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = event;
  }

  std::vector<Event> heap_;
  std::uint32_t order_;
};

}  // namespace heddle::simulator
