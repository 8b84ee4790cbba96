// What becomes of the library in the children that its process forks: it refuses to work there, and
// keeps none of the control plane's sockets open.
#pragma once

#include "base/fd.hpp"

namespace heddle::communicator {

// From here on children are looked after. Cheap when called again.
void mind_forks();

// Whether this process was forked from one that had used the library.
bool forked_after_use();

// A socket of the control plane. A forked child closes its copy at once: as long as any process
// holds a socket, the other end does not learn that the rank has died (close-on-exec helps only a
// child that execs).
class ControlSocket {
 public:
  ControlSocket() = default;
  explicit ControlSocket(base::UniqueFd fd);
  ControlSocket(ControlSocket&& other) noexcept = default;
  ControlSocket& operator=(ControlSocket&& other) noexcept;
  ~ControlSocket() { reset(); }

  explicit operator bool() const { return static_cast<bool>(fd_); }
  int get() const { return fd_.get(); }

 private:
  void reset();

  base::UniqueFd fd_;
};

}  // namespace heddle::communicator
