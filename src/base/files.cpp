#include "base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/fd.hpp"

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

}  // namespace heddle::base
