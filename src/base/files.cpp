#include "base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/host_name.hpp"

namespace heddle::base {
namespace {

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return "a regular file";
    case S_IFDIR: return "a directory";
    case S_IFIFO: return "a fifo";
    case S_IFCHR: return "a character device";
    case S_IFBLK: return "a block device";
    case S_IFSOCK: return "a socket";
    default: return "not a file";
  }
}

[[noreturn]] void fail_to_read(const std::string& name) {
  fail(heddleInvalidArgument, "{}: cannot be read: {}", name, errno_text(errno));
}

}  // namespace

std::string read_file(const std::string& path, const std::string& name) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail_to_read(name);
  if (!S_ISREG(status.st_mode))
    fail(heddleInvalidArgument, "{}: is {}; a regular file of at most {} MiB is needed", name,
         kind_of(status.st_mode), kMostFileMiB);
  // Another file may have come in its place: one that blocks does not block us.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) fail_to_read(name);
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(name);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kMostFileMiB << 20)
      fail(heddleInvalidArgument, "{}: is longer than {} MiB", name, kMostFileMiB);
  }
}

void replace_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new" + std::to_string(getpid());
  const auto give_up = [&] {
    const int reason = errno;
    unlink(fresh.c_str());
    fail_errno(reason, path + ": cannot be written");
  };
  UniqueFd fd(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) fail_errno(errno, path + ": cannot be written");
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = write(fd.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) give_up();
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) give_up();
}

std::string expand_path(const std::string& pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool placeholder = pattern[i] == '%' && i + 1 < pattern.size();
    if (placeholder && pattern[i + 1] == 'h') {
      out += host_name();
      ++i;
    } else if (placeholder && pattern[i + 1] == 'p') {
      out += std::to_string(getpid());
      ++i;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

}  // namespace heddle::base
