// Times the library: a communicator for each candidate, made when it is first asked for.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "harness/control.hpp"
#include "harness/session.hpp"
#include "tune/stopwatch.hpp"

namespace heddle::bench::tune {

// Joins all ranks into a new communicator with these settings ("NAME=value NAME=value").
using OpenSession = std::function<std::unique_ptr<Session>(const std::string& settings)>;

// A file that the library reads in this process while it stands: in memory, so that nothing is left
// of it whatever ends the process.
class TuningFile {
 public:
  explicit TuningFile(const topology::Machine& machine);
  std::string setting() const;

 private:
  base::UniqueFd fd_;
};

class LibraryStopwatch : public Stopwatch {
 public:
  // All must outlive it. Buffers hold operations of up to `max_bytes`.
  LibraryStopwatch(Control& control, const World& world, OpenSession open_session,
                   std::size_t max_bytes);

  double time(const Candidate& candidate, const Cell& cell, int operations) override;
  double now() override;

  // The same for a session of one's own.
  double time(Session& session, const Cell& cell, int operations);
  // Further settings of the communicators that are made from now on.
  void use(std::string settings) { settings_ = std::move(settings); }
  // Closes all communicators.
  void clear() { open_.clear(); }

 private:
  struct Open {
    Candidate candidate;
    std::unique_ptr<Session> session;
  };
  struct Sample {
    double seconds;  // of one operation, by the slowest rank
    bool disturbed;  // a rank was put aside meanwhile
  };
  Sample sample_once(Session& session, const Cell& cell, int operations);
  Session& session_of(const Candidate& candidate);

  Control& control_;
  const World& world_;
  OpenSession open_session_;
  std::string settings_;
  std::vector<std::byte> send_, receive_;
  std::list<Open> open_;  // the last one used is first
};

}  // namespace heddle::bench::tune
