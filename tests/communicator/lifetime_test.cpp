// What is left of communicators and of calls that fail: nothing.
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/deadline.hpp"
#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

// Sockets are closed by a thread of the library, soon.
bool open_files_become(std::ptrdiff_t most) {
  const base::Deadline deadline(base::Seconds(10));
  while (open_files() > most && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return open_files() <= most;
}

std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("communicators of one rank leave no root behind") {
  const auto round = [] {
    heddleUniqueId id;
    heddleComm_t comm = nullptr;
    REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
    REQUIRE(heddleCommInitRank(&comm, 1, id, 0) == heddleSuccess);
    REQUIRE(heddleCommDestroy(comm) == heddleSuccess);
  };
  round();  // what stays as long as the process
  const std::ptrdiff_t before = open_files();
  for (int i = 0; i < 2000; ++i) round();
  CHECK(open_files_become(before));
}

TEST_CASE("a call without a place for its result makes nothing") {
  heddleUniqueId id;
  REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
  const std::ptrdiff_t files = open_files();
  const std::size_t bytes = mapped_bytes();
  constexpr std::size_t kBytes = 64 << 20;
  CHECK(heddleGetUniqueId(nullptr) == heddleInvalidArgument);
  CHECK_THAT(heddleGetLastError(nullptr), Contains("id is NULL"));
  CHECK(heddleMemAlloc(nullptr, kBytes) == heddleInvalidArgument);
  CHECK_THAT(heddleGetLastError(nullptr), Contains("pointer is NULL"));
  CHECK(open_files() <= files);
  CHECK(mapped_bytes() < bytes + kBytes);
}

}  // namespace heddle::test
