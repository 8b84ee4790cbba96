// What the C API's handles are, and how its functions turn exceptions into results and sentences.
#pragma once

#include <memory>
#include <new>
#include <string>

#include "base/error.hpp"
#include "communicator/communicator.hpp"
#include "communicator/registry.hpp"

struct heddleComm {
  std::shared_ptr<heddle::communicator::Communicator> communicator;
  heddle::communicator::Registrations registrations;
};

struct heddleWork {
  std::shared_ptr<heddle::communicator::Communicator> communicator;
  std::shared_ptr<heddle::communicator::Operation> operation;
};

namespace heddle::communicator {

// What heddleGetLastError(NULL) hands out: the calling thread's last failure.
std::string& thread_error();

// Runs `body`; whatever it throws becomes a result and this thread's last error.
template <typename Body>
heddleResult_t guarded(Body&& body) {
  try {
    body();
    return heddleSuccess;
  } catch (const base::Error& error) {
    thread_error() = error.what();
    return error.code();
  } catch (const std::bad_alloc&) {
    thread_error() = "out of memory";
    return heddleSystemError;
  } catch (const std::exception& error) {
    thread_error() = error.what();
    return heddleInternalError;
  }
}

// Before anything is made for it: of `required(p) = make()` C++ runs make first.
template <typename Pointer>
Pointer& required(Pointer* pointer, const char* name) {
  if (pointer == nullptr) base::fail(heddleInvalidArgument, "{} is NULL", name);
  return *pointer;
}

void refuse_forked_child();

// A share of its own, so that an abort in another thread does not free what this call uses.
std::shared_ptr<Communicator> usable(heddleComm_t comm);

}  // namespace heddle::communicator
