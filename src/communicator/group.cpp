#include "communicator/group.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "communicator/arguments.hpp"

namespace heddle::communicator {
namespace {

struct Noted {
  std::shared_ptr<Communicator> communicator;
  Call call;
};

struct Group {
  int depth = 0;
  std::vector<Noted> calls;
  std::string spoilt;  // why; empty when it is not
};

thread_local Group group;

// The transfers of a communicator become one call, at the place of the first.
void note(std::vector<Noted>& calls, Noted noted) {
  const auto joins = [&](const Noted& before) {
    return before.communicator == noted.communicator && before.call.kind == Call::Kind::transfers;
  };
  const auto found = noted.call.kind == Call::Kind::transfers
                         ? std::find_if(calls.begin(), calls.end(), joins)
                         : calls.end();
  if (found == calls.end())
    calls.push_back(std::move(noted));
  else
    found->call.transfers.insert(found->call.transfers.end(), noted.call.transfers.begin(),
                                 noted.call.transfers.end());
}

// The calls of the outermost group; none for an inner one.
std::vector<Noted> close() {
  if (group.depth == 0)
    base::fail(heddleInvalidUsage, "a group ends that was not started (heddleGroupStart)");
  if (--group.depth > 0) return {};
  const Group ended = std::exchange(group, {});
  if (!ended.spoilt.empty())
    base::fail(heddleInvalidUsage, "nothing of this group was done, for a call of it failed: {}",
               ended.spoilt);
  std::vector<Transfer> all;
  for (const Noted& noted : ended.calls) {
    const std::vector<Transfer>& transfers = noted.call.transfers;
    check_transfers_to_self(transfers, noted.communicator->rank());
    all.insert(all.end(), transfers.begin(), transfers.end());
  }
  check_transfers_apart(std::move(all));
  return ended.calls;
}

std::vector<Started> start_all(std::vector<Noted> calls, std::exception_ptr& failure) {
  std::vector<Started> started;
  for (Noted& noted : calls) {
    try {
      started.push_back({noted.communicator, noted.communicator->start(std::move(noted.call))});
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  return started;
}

}  // namespace

void start_group() { ++group.depth; }
bool in_group() { return group.depth > 0; }

void add_to_group(std::shared_ptr<Communicator> communicator, Call call) {
  note(group.calls, {std::move(communicator), std::move(call)});
}

void spoil_group(const std::string& why) {
  if (group.spoilt.empty()) group.spoilt = why;
}

void discard_group(const std::string& why) {
  if (group.depth == 0) return;
  if (--group.depth == 0)
    group = {};
  else
    spoil_group(why);
}

void end_group() {
  std::vector<Noted> calls = close();
  if (calls.empty()) return;
  if (calls.size() == 1) return calls.front().communicator->run(std::move(calls.front().call));
  std::exception_ptr failure;
  for (const auto& [communicator, operation] : start_all(std::move(calls), failure)) {
    communicator->wait(*operation, base::Seconds(-1));
    if (operation->result() != heddleSuccess && !failure)
      failure = std::make_exception_ptr(base::Error(operation->result(), operation->error()));
  }
  if (failure) std::rethrow_exception(failure);
}

Started end_group_async() {
  std::vector<Noted> calls = close();
  for (const Noted& noted : calls)
    if (noted.communicator != calls.front().communicator)
      base::fail(heddleInvalidUsage,
                 "the group has calls of several communicators; one work stands for those of one "
                 "only (use heddleGroupEnd, or a group for each)");
  if (calls.empty()) return {};
  std::exception_ptr failure;
  std::vector<Started> started = start_all(std::move(calls), failure);
  if (failure) std::rethrow_exception(failure);
  return std::move(started.back());
}

}  // namespace heddle::communicator
