// One operation handed to libfabric, from the post to its completion. Requests come from a pool
// that grows in blocks and never per message.
#pragma once

#include <rdma/fabric.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/deadline.hpp"
#include "transport/fabric/memory_region.hpp"

namespace heddle::transport::fabric {

class Connection;
struct ControlBuffer;
struct Peer;

// ping and probe are sends whose failure must show.
enum class Verb : std::uint8_t { receive, send, tagged_receive, tagged_send, write, ping, probe };

struct Request {
  fi_context2 context;  // libfabric's; first, so that a completion's context is the request
  Verb verb;
  bool may_inject;
  bool under_way;  // handed to libfabric
  bool gave_up;    // was under way when its link failed; their_generation is of then
  bool asked;      // the peer, whether it came
  std::uint8_t attempts;
  int link;           // of the peer
  int rail;           // ours
  Connection* owner;  // null for bounce buffers and for what is between processes
  Peer* peer;         // null for bounce buffers
  std::uint64_t sequence;
  std::byte* data;
  std::size_t bytes;
  const Regions* regions;  // of data; null where no rail needs them
  void* desc;
  fi_addr_t to;
  std::uint32_t their_generation;         // of the endpoint that `to` names
  std::uint64_t remote;                   // write: address or offset
  std::uint64_t key;                      // write
  std::uint64_t length;                   // write: goes before the data; 0: nothing does
  std::uint64_t tag;                      // tagged verbs: the tag; write: the immediate
  ControlBuffer* buffer;                  // goes back to its pool, or null
  base::Clock::time_point waiting_since;  // first -FI_EAGAIN
  std::uint64_t posted;                   // number among all posts of the process
  Request* next;                          // in a queue of posts that wait, or under way
  Request* previous;                      // under way
};

class RequestPool {
 public:
  Request* take() {
    if (free_.empty()) grow();
    Request* request = free_.back();
    free_.pop_back();
    return request;
  }
  void give(Request* request) { free_.push_back(request); }

 private:
  static constexpr std::size_t kBlock = 128;
  void grow() {
    blocks_.push_back(std::make_unique<std::array<Request, kBlock>>());
    free_.reserve(blocks_.size() * kBlock);
    for (Request& request : *blocks_.back()) free_.push_back(&request);
  }

  std::vector<std::unique_ptr<std::array<Request, kBlock>>> blocks_;
  std::vector<Request*> free_;
};

// First in, first out, through Request::next.
class RequestQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  Request* front() const { return head_; }
  void push(Request* request) {
    request->next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = request;
    tail_ = request;
  }
  void push_front(Request* request) {
    request->next = head_;
    if (head_ == nullptr) tail_ = request;
    head_ = request;
  }
  Request* pop() {
    Request* request = head_;
    head_ = head_->next;
    return request;
  }

 private:
  Request* head_ = nullptr;
  Request* tail_ = nullptr;
};

// In the order of posting, through Request::next and previous; any may leave.
class RequestList {
 public:
  bool empty() const { return head_ == nullptr; }
  Request* front() const { return head_; }
  void push(Request* request) {
    request->next = nullptr;
    request->previous = tail_;
    (head_ == nullptr ? head_ : tail_->next) = request;
    tail_ = request;
  }
  void erase(Request* request) {
    (request->previous == nullptr ? head_ : request->previous->next) = request->next;
    (request->next == nullptr ? tail_ : request->next->previous) = request->previous;
  }

 private:
  Request* head_ = nullptr;
  Request* tail_ = nullptr;
};

}  // namespace heddle::transport::fabric
