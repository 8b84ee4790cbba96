#include "device/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"

namespace heddle::device {
namespace {

bool resident(const HostMemory& memory) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(memory.size() / page);
  REQUIRE(mincore(memory.data(), memory.size(), pages.data()) == 0);
  return std::all_of(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
}

TEST_CASE("host memory is aligned, zeroed, already touched and as large as asked") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t huge = std::size_t{2} << 20;
  for (const std::size_t bytes :
       {std::size_t{1}, page, page + 1, huge - 1, huge, huge + 1, 5 * huge}) {
    INFO("bytes " << bytes);
    const HostMemory memory = allocate_host(bytes);
    CHECK(memory.size() >= bytes);
    CHECK(memory.size() % page == 0);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    CHECK(address % (bytes >= huge ? huge : page) == 0);
    CHECK(resident(memory));
    CHECK(std::all_of(memory.data(), memory.data() + memory.size(),
                      [](std::byte b) { return b == std::byte{0}; }));
    memory.data()[bytes - 1] = std::byte{1};
  }
}

TEST_CASE("host memory that is released is unmapped") {
  HostMemory memory = allocate_host(std::size_t{2} << 20);
  void* const address = memory.data();
  const std::size_t size = memory.size();
  memory.reset();
  unsigned char pages[512];
  REQUIRE(size / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) <= sizeof pages);
  CHECK(mincore(address, size, pages) == -1);
}

TEST_CASE("host memory of 0 bytes is an invalid argument") {
  try {
    allocate_host(0);
    FAIL("no error");
  } catch (const base::Error& error) {
    CHECK(error.code() == heddleInvalidArgument);
    CHECK(std::string(error.what()).find("0 bytes") != std::string::npos);
  }
}

TEST_CASE("host memory that does not exist is an error that names the bytes") {
  for (const std::size_t bytes : {std::size_t{1} << 60, ~std::size_t{0}}) {
    try {
      allocate_host(bytes);
      FAIL("no error");
    } catch (const base::Error& error) {
      CHECK(error.code() == heddleSystemError);
      CHECK(std::string(error.what()).find(std::to_string(bytes)) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace heddle::device
