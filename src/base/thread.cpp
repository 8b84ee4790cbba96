#include "base/thread.hpp"

#include <pthread.h>

#include <csignal>
#include <system_error>

#include "base/error.hpp"

namespace heddle::base {
namespace {

// Blocks the program's signals for threads that are started meanwhile; not those that a fault of
// the thread itself raises, which crash handlers want to see.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

std::thread start_thread(const char* name, std::function<void()> body) {
  const BlockSignals blocked;
  try {
    std::thread thread(std::move(body));
    pthread_setname_np(thread.native_handle(), name);
    return thread;
  } catch (const std::system_error& error) {
    fail(heddleSystemError, "starting the thread {}: {}", name, error.what());
  }
}

}  // namespace heddle::base
