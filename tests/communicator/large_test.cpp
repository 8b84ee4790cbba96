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

// One rank's part is nearly everything, so that the other's buffers stay small.
TEST_CASE("over-2^31: an all-gather of two unequal blocks of 2^32 + 1 bytes in all") {
  const std::vector<std::size_t> counts = {2 * kEdge - 9, 10};
  const std::size_t total = counts[0] + counts[1];
  run_ranks(2, [&](Communicator& communicator, int rank) {
    Large<std::uint8_t> buffer(total);
    std::uint8_t* const own = buffer.data() + (rank == 0 ? 0 : counts[0]);
    fill(own, rank, counts[static_cast<std::size_t>(rank)]);
    communicator.all_gather_v(own, buffer.data(), counts, heddleUint8);
    check(buffer.data(), total, [&](std::size_t i) {
      return i < counts[0] ? value_at<std::uint8_t>(0, i)
                           : value_at<std::uint8_t>(1, i - counts[0]);
    });
  });
}

TEST_CASE("over-2^31: a broadcast of 2^32 + 3 bytes, in place") {
  run_ranks(2, [](Communicator& communicator, int rank) {
    const std::size_t count = 2 * kEdge + 3;
    Large<std::uint8_t> buffer(count);
    if (rank == 1) fill(buffer.data(), 1, count);
    communicator.broadcast(buffer.data(), buffer.data(), count, heddleUint8, 1);
    check(buffer.data(), count, [](std::size_t i) { return value_at<std::uint8_t>(1, i); });
  });
}

TEST_CASE("over-2^31: an all-to-all with a block of 2^32 + 5 bytes, and one behind it") {
  // Rank 0 sends the large block to rank 1 and then three elements to itself; all others are short.
  const std::size_t many = 2 * kEdge + 5;
  const std::vector<std::size_t> counts[2][2] = {{{3, many}, {3, 4}}, {{4, 2}, {many, 2}}};
  const std::vector<std::size_t> displacements[2][2] = {{{many, 0}, {0, 3}}, {{0, 4}, {0, many}}};
  run_ranks(2, [&](Communicator& communicator, int rank) {
    const auto own = static_cast<std::size_t>(rank);
    const auto& [sends, receives] = counts[own];
    const auto& [send_places, receive_places] = displacements[own];
    Large<std::uint8_t> send(sends[0] + sends[1]);
    Large<std::uint8_t> receive(receives[0] + receives[1]);
    // Blocks start with values of their own.
    const auto value = [](std::size_t from, std::size_t to, std::size_t i) {
      return value_at<std::uint8_t>(static_cast<int>(40 * (2 * from + to)), i);
    };
    for (std::size_t to = 0; to < 2; ++to)
      for (std::size_t i = 0; i < sends[to]; ++i)
        send.data()[send_places[to] + i] = value(own, to, i);
    communicator.all_to_all_v(send.data(), {sends, send_places}, receive.data(),
                              {receives, receive_places}, heddleUint8);
    for (std::size_t from = 0; from < 2; ++from)
      check(receive.data() + receive_places[from], receives[from],
            [&](std::size_t i) { return value(from, own, i); });
  });
}

TEST_CASE("over-2^31: a send of 2^32 + 7 bytes") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  run_ranks(
      2,
      [](Communicator& communicator, int rank) {
        const std::size_t count = 2 * kEdge + 7;
        Large<std::uint8_t> buffer(count);
        if (rank == 0) {
          fill(buffer.data(), 0, count);
          communicator.send(buffer.data(), count, heddleUint8, 1);
          return;
        }
        communicator.receive(buffer.data(), count, heddleUint8, 0);
        check(buffer.data(), count, [](std::size_t i) { return value_at<std::uint8_t>(0, i); });
      },
      how);
}

}  // namespace heddle::test
