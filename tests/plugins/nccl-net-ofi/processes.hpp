// Two processes of a test, as the plugin's users are: each is forked before anything of libfabric
// or CUDA is used, and may crash or hang without the test.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/fd.hpp"

namespace heddle::nccl_net::testing {

inline void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// What the two say to each other beside the plugin, each when the other expects it.
class Other {
 public:
  explicit Other(int socket) : socket_(socket) {}
  template <typename T>
  void tell(const T& value) const {
    expect(::send(socket_, &value, sizeof value, MSG_NOSIGNAL) == ssize_t{sizeof value},
           "the other process is gone");
  }
  template <typename T>
  T hear() const {
    T value;
    expect(recv(socket_, &value, sizeof value, MSG_WAITALL) == ssize_t{sizeof value},
           "the other process is gone");
    return value;
  }
  // Whether it has said something, or is gone.
  bool has_said() const {
    pollfd one{socket_, POLLIN, 0};
    return poll(&one, 1, 0) > 0;
  }
  void meet() const {
    tell('.');
    hear<char>();
  }

 private:
  int socket_;
};

using Variables = std::vector<std::pair<std::string, std::string>>;  // of the environment

inline Variables operator+(Variables left, const Variables& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

struct Process {
  const char* name;
  Variables variables;
  std::function<void(const Other&)> work;
};

namespace detail {

struct Running {
  pid_t pid;
  base::UniqueFd failure;  // its text
};

inline Running start(const Process& process, int socket, int of_the_other) {
  int ends[2];
  expect(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
  const pid_t pid = fork();
  if (pid != 0) {
    close(ends[1]);
    return {pid, base::UniqueFd(ends[0])};
  }
  close(of_the_other);
  for (const int one : {SIGSEGV, SIGBUS, SIGABRT}) signal(one, SIG_DFL);  // Catch2 has its own
  for (const auto& [name, value] : process.variables) setenv(name.c_str(), value.c_str(), 1);
  std::string failure;
  try {
    process.work(Other(socket));
  } catch (const std::exception& error) {
    failure = error.what();
  }
  const ssize_t told = write(ends[1], failure.data(), failure.size());
  _exit(failure.empty() && told == 0 ? 0 : 1);
}

// "", or how it ended.
inline std::string outcome(const Process& process, const Running& running, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  std::array<char, 16384> text;
  const ssize_t bytes = read(running.failure.get(), text.data(), text.size());
  std::string said(text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  if (WIFSIGNALED(status))
    said = WTERMSIG(status) == SIGKILL ? "did not end" : strsignal(WTERMSIG(status));
  return std::string(process.name) + ": " + said + "\n";
}

}  // namespace detail

// Runs both, for so many seconds at most. "" when both end well, else what each says. What one
// loses by the other's failure is said too.
inline std::string run_processes(const Process& left, const Process& right, double seconds = 60) {
  int sockets[2];
  expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0, "no sockets");
  const std::array<const Process*, 2> both{&left, &right};
  std::array<detail::Running, 2> running{detail::start(left, sockets[0], sockets[1]),
                                         detail::start(right, sockets[1], sockets[0])};
  close(sockets[0]);
  close(sockets[1]);
  base::Deadline deadline{base::Seconds(seconds)};
  std::string failures;
  for (int alive = 2; alive > 0;) {
    for (std::size_t i = 0; i < running.size(); ++i) {
      int status = 0;
      if (running[i].pid <= 0 || waitpid(running[i].pid, &status, WNOHANG) == 0) continue;
      const std::string how = detail::outcome(*both[i], running[i], status);
      if (!how.empty()) deadline = base::Deadline{base::Seconds(5)};
      failures += how;
      running[i].pid = 0;
      --alive;
    }
    if (deadline.passed())
      for (const auto& one : running)
        if (one.pid > 0) kill(one.pid, SIGKILL);
    usleep(2000);
  }
  return failures;
}

inline std::string run_process(const Process& process, double seconds = 60) {
  return run_processes(process, {"nobody", {}, [](const Other&) {}}, seconds);
}

}  // namespace heddle::nccl_net::testing
