// The few calls on Unix sockets that the rendezvous needs. None of them blocks.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/fd.hpp"

namespace heddle::transport {

// Fails with heddleSystemError; when a limit of the process or the system was met (descriptors,
// mappings, memory) the text names the limit, its value and what to do.
[[noreturn]] void fail_with_limit(int error, const std::string& what);

struct Listener {
  base::UniqueFd socket;
  std::string name;  // abstract, chosen by the kernel, without the leading zero byte
};
Listener listen_abstract();

struct Accepted {
  base::UniqueFd socket;  // invalid: nobody waits, or an error
  int error = 0;          // errno of a failure
};
Accepted accept_stream(int listener);

// A stream to a listener of this network namespace. Invalid when its queue is full: try again.
// Fails with heddleRemoteError when nobody listens there.
base::UniqueFd open_stream(const std::string& name);

struct PeerProcess {
  pid_t pid;  // 0 when it is in a pid namespace that this process cannot see
  uid_t uid;
};
PeerProcess peer_process(int socket);

enum class Io { done, again, closed };

// Sends all of `bytes`, or nothing: the messages of the rendezvous are far smaller than the
// socket's buffer. `passed` is a descriptor to pass along, or -1.
Io send_message(int socket, const void* data, std::size_t bytes, int passed = -1);

// Reads until `have` is `bytes`. With `passed`, a descriptor that comes along is stored there.
Io receive_message(int socket, void* data, std::size_t bytes, std::size_t& have,
                   base::UniqueFd* passed = nullptr);

}  // namespace heddle::transport
