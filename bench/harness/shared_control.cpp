#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <system_error>

#include "harness/control.hpp"
#include "heddle/heddle.hpp"

namespace heddle::bench {

struct SharedRegion::Layout {
  alignas(64) std::atomic<std::uint32_t> arrived;
  alignas(64) std::atomic<std::uint32_t> generation;
  alignas(64) std::atomic<std::size_t> failure;  // hash of the last text; 0: none
  alignas(64) std::byte records[];

  std::byte* record(int rank) { return records + static_cast<std::size_t>(rank) * kRecordBytes; }
};

SharedRegion::SharedRegion(int ranks)
    : bytes_(sizeof(Layout) + static_cast<std::size_t>(ranks) * kRecordBytes) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(heddleSystemError, fmt::format("mmap of {} shared bytes: {}", bytes_,
                                               std::generic_category().message(errno)));
  layout_ = new (memory) Layout{};
}

SharedRegion::~SharedRegion() { munmap(layout_, bytes_); }

SharedControl::SharedControl(SharedRegion& region, int rank, int ranks)
    : layout_(*region.layout_), rank_(rank), ranks_(ranks) {}

// The last to arrive opens the next generation. The others yield for a while, so that all leave
// within microseconds of each other when they came together, and then sleep.
void SharedControl::barrier() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kYield = std::chrono::milliseconds(5);
  const auto generation = layout_.generation.load(std::memory_order_acquire);
  auto* word = reinterpret_cast<std::uint32_t*>(&layout_.generation);
  if (layout_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      static_cast<std::uint32_t>(ranks_)) {
    layout_.arrived.store(0, std::memory_order_relaxed);
    layout_.generation.store(generation + 1, std::memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return;
  }
  const auto start = Clock::now();
  while (layout_.generation.load(std::memory_order_acquire) == generation) {
    const auto waited = Clock::now() - start;
    if (waited < kYield) {
      sched_yield();
      continue;
    }
    if (waited > std::chrono::duration<double>(kControlTimeout))
      throw Error(heddleTimeout,
                  fmt::format("rank {} waited {} s for the other ranks of the benchmark; {} of {} "
                              "came",
                              rank_, kControlTimeout, layout_.arrived.load(), ranks_));
    const timespec slice{1, 0};
    syscall(SYS_futex, word, FUTEX_WAIT, generation, &slice, nullptr, 0);
  }
}

void SharedControl::all_gather(const void* send, void* receive, std::size_t bytes) {
  if (bytes > kRecordBytes)
    throw Error(heddleInternalError,
                fmt::format("a record of {} bytes; at most {}", bytes, kRecordBytes));
  std::memcpy(layout_.record(rank_), send, bytes);
  barrier();
  for (int rank = 0; rank < ranks_; ++rank)
    std::memcpy(static_cast<std::byte*>(receive) + static_cast<std::size_t>(rank) * bytes,
                layout_.record(rank), bytes);
  barrier();  // nobody writes its next record before all have read
}

bool SharedControl::is_news(std::string_view failure) {
  const std::size_t hash = std::hash<std::string_view>{}(failure) | 1;
  return layout_.failure.exchange(hash) != hash;
}

}  // namespace heddle::bench
