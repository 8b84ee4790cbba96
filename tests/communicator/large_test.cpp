// Case over-2^31: counts and bytes beyond 31 and 32 bits. Needs about 14 GiB of memory.
#include <sys/mman.h>

#include <algorithm>
#include <memory>

#include "base/fd.hpp"
#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

constexpr std::size_t kEdge = std::size_t{1} << 31;

template <typename T>
class Large {
 public:
  explicit Large(std::size_t count)
      : memory_(mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
                count * sizeof(T)) {
    expect(memory_.data() != MAP_FAILED, "not enough memory for this test");
    madvise(memory_.data(), memory_.size(), MADV_HUGEPAGE);
  }
  T* data() { return reinterpret_cast<T*>(memory_.data()); }

 private:
  base::MappedMemory memory_;
};

// Small, different for neighbours, and without a period that divides a power of two.
template <typename T>
T value_at(int rank, std::size_t i) {
  return static_cast<T>(i % 31 + static_cast<std::size_t>(rank));
}

template <typename T>
void fill(T* data, int rank, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) data[i] = value_at<T>(rank, i);
}

// All elements near the start, the end and every multiple of 2^31 bytes; one in 4093 elsewhere.
template <typename T, typename Expected>
void check(const T* data, std::size_t count, const Expected& expected) {
  const std::size_t edge = kEdge / sizeof(T);
  const std::size_t near = 100000;
  const auto one = [&](std::size_t i) {
    if (data[i] != expected(i)) expect(false, "wrong at element " + std::to_string(i));
  };
  for (std::size_t i = 0; i < count; i += 4093) one(i);
  for (std::size_t centre = 0; centre < count + edge; centre += edge) {
    const std::size_t middle = std::min(centre, count);
    for (std::size_t i = middle - std::min(middle, near); i < std::min(middle + near, count); ++i)
      one(i);
  }
}

}  // namespace

TEST_CASE("over-2^31: all-reduce of 2^31 + 8 bytes, in place") {
  const std::string settings = GENERATE("", "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp");
  run_ranks(
      2,
      [](Communicator& communicator, int rank) {
        const std::size_t count = kEdge + 8;
        Large<std::uint8_t> buffer(count);
        fill(buffer.data(), rank, count);
        communicator.all_reduce(buffer.data(), buffer.data(), count, heddleUint8, Op::sum);
        check(buffer.data(), count, [](std::size_t i) {
          return static_cast<std::uint8_t>(value_at<std::uint8_t>(0, i) +
                                           value_at<std::uint8_t>(1, i));
        });
      },
      settings);
}

TEST_CASE("over-2^31: all-reduce of 2^28 + 1 int64") {
  run_ranks(2, [](Communicator& communicator, int rank) {
    const std::size_t count = (std::size_t{1} << 28) + 1;
    Large<std::int64_t> send(count);
    Large<std::int64_t> receive(count);
    fill(send.data(), rank, count);
    communicator.all_reduce(send.data(), receive.data(), count, heddleInt64, Op::max);
    check(receive.data(), count, [](std::size_t i) { return value_at<std::int64_t>(1, i); });
  });
}

TEST_CASE("over-2^31: all-gather and reduce-scatter of 2^32 - 1, 2^32 and 2^32 + 2 bytes in all") {
  const auto [ranks, count] =
      GENERATE(std::pair{3, std::size_t{1431655765}}, std::pair{2, kEdge}, std::pair{2, kEdge + 1});
  const std::size_t total = static_cast<std::size_t>(ranks) * count;
  run_ranks(ranks, [&, ranks = ranks, count = count](Communicator& communicator, int rank) {
    Large<std::uint8_t> buffer(total);
    std::uint8_t* const own = buffer.data() + static_cast<std::size_t>(rank) * count;
    fill(own, rank, count);
    communicator.all_gather(own, buffer.data(), count, heddleUint8);
    check(buffer.data(), total, [&](std::size_t i) {
      return value_at<std::uint8_t>(static_cast<int>(i / count), i % count);
    });
    communicator.reduce_scatter(buffer.data(), own, count, heddleUint8, Op::max);
    check(own, count, [&](std::size_t i) { return value_at<std::uint8_t>(rank, i); });
  });
}

}  // namespace heddle::test
