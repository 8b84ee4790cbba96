#include "nccl-net-ofi/session.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "heddle/version.h"
#include "nccl-net-ofi/logging.hpp"
#include "nccl-net-ofi/ofi_variables.hpp"

namespace heddle::nccl_net {

namespace {

std::atomic<bool> forked{false};

void mind_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  (void)registered;
}

struct Context {};

// Never destroyed: NCCL's threads may be here while the process ends.
struct State {
  std::mutex mutex;
  std::shared_ptr<Session> session;
  std::unordered_set<void*> contexts;  // each a Context
  bool for_good = false;
};
State& state() {
  static State* const instance = new State;
  return *instance;
}

// With the state's mutex held.
void begin(State& now, nccl_abi::Logger logger) {
  if (now.session) return;
  mind_forks();
  adopt_logger(logger);
  now.session = std::make_shared<Session>();
}

}  // namespace

Session::Session() {
  const OfiSettings understood = read_ofi_variables(environ);
  std::vector<std::string> warnings;
  settings_ = base::load_settings(environ, understood.overrides, warnings);
  configure_logging(settings_);
  base::log_info("NET/OFI Initializing {} {}.{}.{}", kName, HEDDLE_MAJOR, HEDDLE_MINOR,
                 HEDDLE_PATCH);
  for (const auto& line : understood.lines) base::log_info("NET/OFI {}", line);
  for (const auto& warning : warnings) base::log_warn("NET/OFI {}", warning);
  devices_ = find_devices(settings_);
}

Session::Place& Session::place(int device) {
  const std::lock_guard lock(mutex_);
  while (places_.size() <= static_cast<std::size_t>(device)) places_.emplace_back();
  return places_[static_cast<std::size_t>(device)];
}

std::shared_ptr<Endpoint> Session::endpoint(int device) {
  const Device& wanted = devices_->at(device);
  Place& here = place(device);
  const std::lock_guard lock(here.mutex);
  if (!here.endpoint)
    here.endpoint = open_endpoint(settings_, wanted.adapters, wanted.most_grouped);
  return here.endpoint;
}

void* begin_context(nccl_abi::Logger logger) {
  refuse_forked();
  State& now = state();
  const std::lock_guard lock(now.mutex);
  begin(now, logger);
  return *now.contexts.insert(new Context).first;
}

void begin_for_good(nccl_abi::Logger logger) {
  refuse_forked();
  State& now = state();
  const std::lock_guard lock(now.mutex);
  begin(now, logger);
  now.for_good = true;
}

void end_context(void* context) {
  refuse_forked();
  State& now = state();
  std::shared_ptr<Session> last;  // ends when the lock is gone
  {
    const std::lock_guard lock(now.mutex);
    if (now.contexts.erase(context) == 0) return;
    delete static_cast<Context*>(context);
    if (now.contexts.empty() && !now.for_good) last = std::move(now.session);
  }
  if (!last) return;
  last.reset();
  const std::lock_guard lock(now.mutex);
  if (!now.session) drop_logger();
}

std::shared_ptr<Session> session() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.session)
    base::fail(heddleInvalidUsage, "the plugin is not initialised, or was finalised");
  return now.session;
}

void refuse_forked() {
  if (forked.load(std::memory_order_relaxed))
    base::fail(heddleInvalidUsage,
               "this process ({}) was forked from one that uses {}: its network stayed there. Fork "
               "before NCCL is initialised, or start children with exec",
               getpid(), kName);
}

}  // namespace heddle::nccl_net
