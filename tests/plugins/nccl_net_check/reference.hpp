// A NCCL net plugin as simple as can be, for the tests of nccl_net_check: a Unix socket for each
// comm, one message after the other, and faults to order.
//
// The receiver tells the sender of each receive (a credit), so that a send finds out whose buffer
// it is for, and how long that is, before it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::net_reference {

// Whether NCCL_NET_REFERENCE_FAULT is this.
bool fault(std::string_view name);

struct Slot {
  std::byte* data;
  std::uint64_t bytes;
  int tag;
  std::uint64_t received = 0;
  bool whole = false;  // its message is there
};

class Comm;
struct Request {
  Comm* comm;
  enum class State { waiting, done, failed } state = State::waiting;
  std::vector<Slot> slots;
};

class Comm {
 public:
  // The socket, which must not block, is its own from now on.
  Comm(int socket, bool sends) : socket_(socket), sends_(sends) {}
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  ~Comm();

  // Null: not now. `refused` is set when the receive is shorter.
  Request* send(std::byte* data, std::uint64_t bytes, int tag, bool* refused);
  Request* receive(std::vector<Slot> slots);
  // As far as the socket lets it.
  void progress();
  void release(Request* request);
  bool busy() const { return !requests_.empty(); }

 private:
  struct Credit {
    std::uint64_t bytes;
    int tag;
    bool used, last_of_group;
  };
  struct Header {
    std::uint64_t slot, bytes;
  };
  struct Outgoing {
    std::vector<std::byte> head;
    std::byte* data = nullptr;
    std::uint64_t bytes = 0, written = 0;
    Request* request = nullptr;
  };
  void lose();
  bool write_some(Outgoing& one);
  // Bytes read into this place; 0: none now.
  std::uint64_t read_some(void* place, std::uint64_t bytes);
  bool read_part();
  void message_is_there(Request& request, Slot& slot);
  Request* first_waiting();
  Request* new_request(std::vector<Slot> slots);

  int socket_;
  bool sends_;
  bool lost_ = false;
  std::deque<Outgoing> outgoing_;
  std::deque<Credit> credits_;   // of the sender
  std::vector<std::byte> head_;  // read so far, of a Header or a Credit
  bool in_message_ = false;
  Header header_{};
  std::deque<std::unique_ptr<Request>> requests_;
};

// In the abstract space of names: it goes with its socket.
struct Listener {
  int socket;
  std::string name;
};
Listener* open_listener();
void close_listener(Listener* listener);
// Null: nobody yet.
Comm* accept(Listener& listener);
// Null: not now. `refused`: nobody listens there.
Comm* connect(const std::string& name, bool* refused);

}  // namespace heddle::net_reference
