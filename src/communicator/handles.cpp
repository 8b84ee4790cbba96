#include "communicator/handles.hpp"

#include "communicator/forking.hpp"

namespace heddle::communicator {

std::string& thread_error() {
  thread_local std::string text;
  return text;
}

void refuse_forked_child() {
  if (forked_after_use())
    base::fail(heddleInvalidUsage,
               "this process was forked from one that had used Heddle; fork before the first call, "
               "or exec");
}

std::shared_ptr<Communicator> usable(heddleComm_t comm) {
  heddleComm& handle = required(comm, "comm");
  refuse_forked_child();
  return handle.communicator;
}

}  // namespace heddle::communicator
