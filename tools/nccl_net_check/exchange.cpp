#include "nccl_net_check/exchange.hpp"

#include <sched.h>

#include <algorithm>

namespace heddle::net_check {

std::string Operation::state() const {
  if (failed_in) return fmt::format("{}: {}", failed_in, text_of(result));
  if (over) return request ? "done" : "never accepted";
  return request ? "still under way" : "not accepted";
}

Exchange::Lane& Exchange::lane_of(void* comm) {
  for (auto& lane : lanes_)
    if (lane.comm == comm) return lane;
  auto& lane = lanes_.emplace_back();
  lane.comm = comm;
  return lane;
}

Operation& Exchange::add(const Comm& comm, bool sends, std::vector<Slot> slots) {
  auto& operation = operations_.emplace_back();
  operation.comm = comm.get();
  operation.sends = sends;
  operation.slots = std::move(slots);
  lane_of(comm.get()).waiting.push_back(&operation);
  return operation;
}

Operation& Exchange::send(const Comm& comm, Slot slot) { return add(comm, true, {slot}); }

Operation& Exchange::receive(const Comm& comm, std::vector<Slot> slots) {
  return add(comm, false, std::move(slots));
}

Operation& Exchange::send(const Comm& comm, const Buffer& buffer, std::size_t bytes, int tag) {
  return send(comm, {buffer.data(), bytes, tag, buffer.memory()});
}

Operation& Exchange::receive(const Comm& comm, const Buffer& buffer, std::size_t bytes, int tag) {
  return receive(comm, {{buffer.data(), bytes, tag, buffer.memory()}});
}

Result Exchange::post_one(Operation& operation) {
  auto& net = rank_.net();
  operation.request = operation.hint;
  if (operation.sends) {
    const auto& slot = operation.slots.front();
    return net.send(operation.comm, slot.data, slot.bytes, slot.tag, slot.memory,
                    &operation.request);
  }
  std::array<void*, nccl_abi::kMostGrouped> data{}, memories{};
  std::array<std::size_t, nccl_abi::kMostGrouped> bytes{};
  std::array<int, nccl_abi::kMostGrouped> tags{};
  for (std::size_t i = 0; i < operation.slots.size(); ++i) {
    const auto& slot = operation.slots[i];
    data[i] = slot.data;
    bytes[i] = slot.bytes;
    tags[i] = slot.tag;
    memories[i] = slot.memory;
  }
  return net.receive(operation.comm, static_cast<int>(operation.slots.size()), data.data(),
                     bytes.data(), tags.data(), memories.data(), &operation.request);
}

bool Exchange::post(Lane& lane) {
  bool moved = false;
  while (!lane.broken && !lane.waiting.empty() && lane.posted.size() < kWindow) {
    auto& operation = *lane.waiting.front();
    if (lane.first_try == base::Clock::time_point{}) lane.first_try = base::Clock::now();
    operation.result = post_one(operation);
    if (operation.result != Result::success) {
      operation.failed_in = operation.sends ? "isend" : "irecv";
      operation.over = true;
      lane.waiting.pop_front();
      lane.broken = failed_ = true;
      return true;
    }
    if (operation.hint && operation.request == operation.hint)
      fault("irecv left in *request what it found there");
    if (!operation.request) {
      if (operation.give_up_posting > 0 &&
          base::seconds_since(lane.first_try) > operation.give_up_posting) {
        operation.over = true;
        lane.waiting.pop_front();
        moved = true;
      }
      break;
    }
    lane.first_try = {};
    lane.waiting.pop_front();
    lane.posted.push_back(&operation);
    moved = true;
  }
  return moved;
}

bool Exchange::test(Lane& lane) {
  const auto before = lane.posted.size();
  std::erase_if(lane.posted, [&](Operation* operation) {
    int done = 0;
    int* sizes = operation->without_sizes ? nullptr : operation->sizes.data();
    operation->result = rank_.net().test(operation->request, &done, sizes);
    if (operation->result != Result::success) {
      operation->failed_in = "test";
      lane.broken = failed_ = true;
    } else if (!done) {
      return false;
    }
    operation->over = true;
    return true;
  });
  return lane.posted.size() != before;
}

bool Exchange::step() {
  bool moved = false;
  for (auto& lane : lanes_) {
    moved |= post(lane);
    moved |= test(lane);
  }
  if (!moved) sched_yield();
  return moved;
}

bool Exchange::all_over() const {
  // A broken comm takes nothing more.
  return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
    return lane.posted.empty() && (lane.broken || lane.waiting.empty());
  });
}

void Exchange::throw_failed() const {
  if (!failed_) return;
  for (const auto& operation : operations_)
    if (operation.failed_in) fault("{}", operation.state());
}

void Exchange::run() {
  base::Deadline deadline(rank_.patience());
  while (!all_over()) {
    if (step()) deadline = base::Deadline(rank_.patience());
    throw_failed();
    if (!deadline.passed()) continue;
    for (const auto& operation : operations_)
      if (!operation.over)
        fault("a {} of {} bytes is {} after {} s", operation.sends ? "send" : "receive",
              operation.slots.front().bytes, operation.state(), rank_.settings.patience);
  }
}

void Exchange::post_all() {
  const base::Deadline deadline(rank_.patience());
  const auto waiting = [&] {
    return std::count_if(lanes_.begin(), lanes_.end(),
                         [](const Lane& lane) { return !lane.waiting.empty(); });
  };
  while (waiting() > 0) {
    step();
    throw_failed();
    if (deadline.passed())
      fault("a {} is not accepted within {} s", operations_.front().sends ? "send" : "receive",
            rank_.settings.patience);
  }
}

bool Exchange::settle(double seconds) {
  const base::Deadline deadline{base::Seconds(seconds)};
  while (!all_over() && !deadline.passed()) step();
  return all_over();
}

}  // namespace heddle::net_check
