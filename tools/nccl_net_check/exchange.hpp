// Messages under way on any number of comms, driven as NCCL's progress thread does: each comm's in
// the order in which they were given, posted again while the plugin has no request for them, tested
// in turn, yielding when nothing moved.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "nccl_net_check/buffer.hpp"

namespace heddle::net_check {

struct Slot {
  std::byte* data;
  std::size_t bytes;
  int tag;
  void* memory;
};

struct Operation {
  void* comm = nullptr;
  bool sends = false;
  std::vector<Slot> slots;
  void* hint = nullptr;        // what *request holds when it is posted
  bool without_sizes = false;  // test() is given null for them
  double give_up_posting = 0;  // seconds without a request; 0: never

  void* request = nullptr;
  bool over = false;
  Result result = Result::success;
  const char* failed_in = nullptr;  // the call; null: none
  std::array<int, 64> sizes{};      // NCCL's own length of it

  bool done() const { return over && !failed_in; }
  // "done", "isend: ncclSystemError (2)", "never accepted", "still under way"
  std::string state() const;
};

class Exchange {
 public:
  explicit Exchange(Rank& rank) : rank_(rank) {}

  Operation& send(const Comm& comm, Slot slot);
  Operation& receive(const Comm& comm, std::vector<Slot> slots);
  // The whole buffer, or the first bytes of it.
  Operation& send(const Comm& comm, const Buffer& buffer, std::size_t bytes, int tag = 0);
  Operation& receive(const Comm& comm, const Buffer& buffer, std::size_t bytes, int tag = 0);

  // Posts and tests everything once. Whether anything moved.
  bool step();
  // Until everything is done. Throws Failure at the first error, or when nothing moves for the
  // patience.
  void run();
  // Until everything is done or failed, or the time is up. Whether everything is over.
  bool settle(double seconds);
  // Until each is posted. As run().
  void post_all();
  bool all_over() const;
  std::deque<Operation>& operations() { return operations_; }

 private:
  static constexpr int kWindow = nccl_abi::kMostRequests;
  struct Lane {
    void* comm;
    std::deque<Operation*> waiting, posted;
    bool broken = false;
    base::Clock::time_point first_try{};
  };
  Lane& lane_of(void* comm);
  Operation& add(const Comm& comm, bool sends, std::vector<Slot> slots);
  bool post(Lane& lane);
  bool test(Lane& lane);
  Result post_one(Operation& operation);
  void throw_failed() const;

  Rank& rank_;
  bool failed_ = false;
  std::deque<Operation> operations_;
  std::deque<Lane> lanes_;
};

}  // namespace heddle::net_check
