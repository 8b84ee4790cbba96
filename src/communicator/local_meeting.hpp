// How ranks of one host find their root when the launcher gives no address: rank 0 hands out the
// unique id on an abstract Unix socket named after the job. Only processes of the same user are
// answered.
#pragma once

#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "heddle/heddle.h"

namespace heddle::communicator {

class LocalMeeting {
 public:
  // Rank 0: answers until destroyed. Fails with heddleSystemError when the name is taken.
  LocalMeeting(const std::string& job, const heddleUniqueId& id);
  ~LocalMeeting();

 private:
  class Host;
  std::unique_ptr<Host> host_;
};

// Other ranks: asks until rank 0 answers. Fails with heddleTimeout.
heddleUniqueId ask_local_root(const std::string& job, const base::Deadline& deadline);

}  // namespace heddle::communicator
