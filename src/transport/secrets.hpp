// The secrets of the communicators whose pipes a transport may make. A secret leaves no trace when
// the last rank of this process that has it is gone.
//
// Thread rule: the owner's.
#pragma once

#include <sodium.h>

#include <map>

#include "base/error.hpp"
#include "transport/pipe.hpp"

namespace heddle::transport {

class Secrets {
 public:
  Secrets() = default;
  Secrets(const Secrets&) = delete;
  ~Secrets() {
    for (auto& [communicator, known] : known_) forget(known);
  }

  // Several ranks may add the same one. Fails with heddleInvalidUsage when it is another.
  void add(const CommunicatorId& communicator, const PipeSecret& secret) {
    Known& known = known_.try_emplace(communicator, Known{secret, 0}).first->second;
    if (known.secret != secret)
      base::fail(heddleInvalidUsage, "a communicator's id is in use with another secret");
    ++known.users;
  }
  // Whether nobody needs it any more.
  bool remove(const CommunicatorId& communicator) {
    const auto found = known_.find(communicator);
    if (found == known_.end() || --found->second.users > 0) return false;
    forget(found->second);
    known_.erase(found);
    return true;
  }
  // Null where it is not known.
  const PipeSecret* of(const CommunicatorId& communicator) const {
    const auto found = known_.find(communicator);
    return found == known_.end() ? nullptr : &found->second.secret;
  }

 private:
  struct Known {
    PipeSecret secret;
    int users;
  };
  static void forget(Known& known) { sodium_memzero(known.secret.data(), known.secret.size()); }

  std::map<CommunicatorId, Known> known_;
};

}  // namespace heddle::transport
