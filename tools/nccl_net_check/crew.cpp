#include "nccl_net_check/crew.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace heddle::net_check {

const char* name_of(Verdict verdict) {
  static constexpr const char* kNames[] = {"pass", "note", "skip", "FAIL"};
  return kNames[static_cast<int>(verdict)];
}

namespace {

constexpr double kGrace = 3;  // seconds for the other ranks once one is at fault

// A report goes through a pipe as "kind detail \0 data".
enum Kind : char { passed = 'p', noted = 'n', skipped = 's', failed = 'f', peer_gone = 'g' };

[[noreturn]] void report(int fd, Kind kind, const std::string& detail, const std::string& data) {
  const std::string text = std::string(1, kind) + detail + '\0' + data;
  for (std::size_t at = 0; at < text.size();) {
    const auto written = write(fd, text.data() + at, text.size() - at);
    if (written <= 0) _exit(1);
    at += static_cast<std::size_t>(written);
  }
  _exit(0);
}

// Runs the behaviour on a thread of its own, as NCCL's progress thread is.
Finding on_progress_thread(const Behaviour& behaviour, Rank& rank, Doings& doings) {
  Finding finding;
  std::exception_ptr thrown;
  std::thread thread([&] {
    doing = &doings.progress;
    try {
      finding = behaviour.run(rank);
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  thread.join();
  if (thrown) std::rethrow_exception(thrown);
  return finding;
}

[[noreturn]] void be_rank(const Behaviour& behaviour, const Settings& settings, int number,
                          int count, Mail& mail, Doings& doings, int fd) {
  const auto with_warning = [&](std::string text) {
    if (const auto warning = last_warning(); !warning.empty() && !behaviour.shows_log)
      text += "; the plugin warns: " + warning;
    return text;
  };
  try {
    doing = &doings.user;
    if (behaviour.shows_log) show_log();
    // Leaked: whoever failed leaves without calling the plugin again.
    auto& rank = *new Rank(settings, number, count, mail, doings);
    if (!behaviour.raw) rank.start();
    const auto finding = on_progress_thread(behaviour, rank, doings);
    if (!behaviour.raw) rank.stop();
    report(fd, finding.note ? noted : passed, finding.detail, finding.data);
  } catch (const Skipped& why) {
    report(fd, skipped, why.what(), "");
  } catch (const PeerGone& why) {
    report(fd, peer_gone, why.what(), "");
  } catch (const std::exception& why) {
    report(fd, failed, with_warning(why.what()), "");
  }
}

struct Member {
  pid_t pid = -1;
  base::UniqueFd reports;
  std::string report;
  Doings* doings = nullptr;
  bool running = true;
  bool ended_by_us = false;
  int status = 0;

  bool has_report() const { return !report.empty(); }
  Kind kind() const { return static_cast<Kind>(report.front()); }
  std::string detail() const { return report.c_str() + 1; }
  std::string data() const { return report.substr(std::min(detail().size() + 2, report.size())); }
};

// Memory that the ranks write and the parent reads; for the life of the program.
Doings* shared_doings(int ranks) {
  void* memory = mmap(nullptr, sizeof(Doings) * ranks, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) base::fail_errno(errno, "mmap");
  auto* all = static_cast<Doings*>(memory);
  for (int rank = 0; rank < ranks; ++rank) new (all + rank) Doings{};
  return all;
}

// Where the threads of a rank are in the plugin: ", in accept".
std::string place_of(const Doings& doings) {
  std::string text;
  for (const auto* call : {&doings.user, &doings.service, &doings.progress})
    if (const char* name = call->load())
      text += fmt::format("{} {}", text.empty() ? " in" : " and", name);
  return text;
}

class Crew {
 public:
  Crew(const Behaviour& behaviour, const Settings& settings)
      : behaviour_(behaviour),
        settings_(settings),
        count_(behaviour.processes ? behaviour.processes : settings.ranks),
        doings_(shared_doings(count_)) {}
  ~Crew() {
    for (auto& member : members_) end(member);
    munmap(doings_, sizeof(Doings) * count_);
  }

  void start() {
    auto mail = Mail::among(count_);
    for (int rank = 0; rank < count_; ++rank) start(rank, mail);
  }

  void watch() {
    const double bound = 2 * settings_.patience + 5 + behaviour_.extra +
                         (behaviour_.extra > 0 ? settings_.peer_timeout : 0);
    base::Deadline deadline{base::Seconds(bound)};
    bool shortened = false;
    while (anybody_runs()) {
      poll_members();
      if (!shortened && anybody_failed()) {
        deadline = base::Deadline{base::Seconds(kGrace)};
        shortened = true;
      }
      if (!deadline.passed()) continue;
      for (auto& member : members_) end(member);
    }
    for (auto& member : members_) drain(member);
  }

  Outcome outcome() const;

 private:
  void start(int number, std::vector<Mail>& mail) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) base::fail_errno(errno, "pipe");
    base::UniqueFd reads(ends[0]), writes(ends[1]);
    fcntl(reads.get(), F_SETFL, O_NONBLOCK);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) base::fail_errno(errno, "fork");
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      // Crashes are found here, not in files.
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      signal(SIGPIPE, SIG_DFL);
      // Libraries that a plugin's libfabric loads catch signals unless told not to.
      setenv("IPATH_NO_BACKTRACE", "1", 0);
      setenv("HFI_NO_BACKTRACE", "1", 0);
      // Sockets that others hold, too, would hide that their owner is gone.
      auto own = std::move(mail[number]);
      mail.clear();
      be_rank(behaviour_, settings_, number, count_, own, doings_[number], writes.get());
    }
    mail[number] = {};
    auto& member = members_.emplace_back();
    member.pid = pid;
    member.reports = std::move(reads);
    member.doings = doings_ + number;
  }

  static void drain(Member& member) {
    std::array<char, 4096> some{};
    for (;;) {
      const auto got = read(member.reports.get(), some.data(), some.size());
      if (got <= 0) return;
      member.report.append(some.data(), static_cast<std::size_t>(got));
    }
  }

  void poll_members() {
    // Rarely, not to take the processors from what is measured. Who is gone has closed its end, but
    // may take a moment to be waited for.
    std::vector<pollfd> wait;
    for (const auto& member : members_)
      if (member.running) wait.push_back({member.reports.get(), POLLIN, 0});
    if (poll(wait.data(), wait.size(), 20) > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (auto& member : members_) {
      drain(member);
      if (member.running && waitpid(member.pid, &member.status, WNOHANG) == member.pid)
        member.running = false;
    }
  }

  static void end(Member& member) {
    if (!member.running) return;
    kill(member.pid, SIGKILL);
    waitpid(member.pid, &member.status, 0);
    member.running = false;
    member.ended_by_us = true;
  }

  bool anybody_runs() const {
    for (const auto& member : members_)
      if (member.running) return true;
    return false;
  }

  bool dies_by_plan(const Member& member) const {
    return behaviour_.last_dies && &member == &members_.back() && !member.ended_by_us &&
           !member.has_report() && WIFSIGNALED(member.status) && WTERMSIG(member.status) == SIGKILL;
  }

  bool failed_itself(const Member& member) const {
    if (member.has_report()) return member.kind() == failed;
    return !member.running && !member.ended_by_us && !dies_by_plan(member);
  }

  bool anybody_failed() const {
    for (const auto& member : members_)
      if (failed_itself(member) || (member.has_report() && member.kind() == peer_gone)) return true;
    return false;
  }

  std::string fault_of(const Member& member) const {
    if (member.has_report()) return member.detail();
    const auto place = place_of(*member.doings);
    if (member.ended_by_us) return fmt::format("hangs{}", place);
    if (WIFSIGNALED(member.status))
      return fmt::format("crashed{}: {}", place, strsignal(WTERMSIG(member.status)));
    return fmt::format("exited with {}{}", WEXITSTATUS(member.status), place);
  }

  const Behaviour& behaviour_;
  const Settings& settings_;
  const int count_;
  Doings* const doings_;
  std::vector<Member> members_;
};

// The first rank that is at fault itself; then one that hangs; then one that another left.
Outcome Crew::outcome() const {
  Outcome result;
  const auto fault_by = [&](auto chosen) {
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (!chosen(members_[rank])) continue;
      result.verdict = Verdict::fail;
      result.detail = fault_of(members_[rank]);
      if (count_ > 1) result.detail = fmt::format("rank {}: {}", rank, result.detail);
      return true;
    }
    return false;
  };
  if (fault_by([&](const Member& member) { return failed_itself(member); }) ||
      fault_by([](const Member& member) { return !member.has_report() && member.ended_by_us; }) ||
      fault_by(
          [](const Member& member) { return member.has_report() && member.kind() == peer_gone; }))
    return result;
  for (const auto& member : members_) {
    if (!member.has_report()) continue;
    if (member.kind() == noted && result.verdict == Verdict::pass) {
      result.verdict = Verdict::note;
      result.detail = member.detail();
    }
    if (member.kind() == skipped) result.verdict = Verdict::skip;
    if (result.detail.empty()) result.detail = member.detail();
    if (result.data.empty()) result.data = member.data();
  }
  return result;
}

}  // namespace

Outcome run(const Behaviour& behaviour, const Settings& settings) {
  const auto start = base::Clock::now();
  Crew crew(behaviour, settings);
  crew.start();
  crew.watch();
  auto outcome = crew.outcome();
  outcome.seconds = base::seconds_since(start);
  if (outcome.verdict == Verdict::fail && !behaviour.required) outcome.verdict = Verdict::note;
  return outcome;
}

}  // namespace heddle::net_check
