// A program that returns from main while a transport of several rails is open. The thread that
// drives it must be gone by the time that libraries are unloaded; they go after what was registered
// with atexit before them, as this does: exit status 1 where the thread is still there.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support.hpp"

namespace {

bool has_thread(const std::string& name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string its;
    std::getline(std::ifstream(task.path() / "comm"), its);
    if (its == name) return true;
  }
  return false;
}

}  // namespace

int main() {
  std::atexit([] {
    if (has_thread("heddle-rails")) _exit(1);
  });
  // Left open, as by a program that forgets its communicator; static, so that it is no leak.
  static const auto* const fabric =
      fabric_test::open_rails(fabric_test::settings("tcp"), 2).release();
  return fabric != nullptr && has_thread("heddle-rails") ? 0 : 2;
}
