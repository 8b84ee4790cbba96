// What a communicator of 64 ranks costs a rank while messages are small: under 64 MiB.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

constexpr int kRanks = 64;

struct Board {
  heddleUniqueId id;
  std::atomic<int> published;
  std::atomic<int> ready;     // ranks that have run all operations
  std::atomic<int> measured;  // ranks whose memory has been read
  long kibibytes[kRanks];
};

// Memory of this process alone and its share of what it shares.
long proportional_kibibytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;)
    if (word == "Pss:") {
      long value = 0;
      file >> value;
      return value;
    }
  return -1;
}

// A share grows as the others leave: nobody is read before all are ready, or leaves before all have
// been read. A rank that died is left behind after a minute.
void meet(std::atomic<int>& count) {
  ++count;
  for (int waited = 0; count < kRanks && waited < 6000; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void be_rank(Board& board, int rank) {
  if (rank == 0) {
    board.id = UniqueId::make().get();
    board.published = 1;
  }
  while (board.published == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const long before = proportional_kibibytes();
  auto communicator = Communicator::from_unique_id(UniqueId::from_string(board.id.internal), kRanks,
                                                   rank, {"HEDDLE_TIMEOUT=60"});
  // Plain buffers: a model of 64 ranks would outweigh what is measured.
  for (const std::size_t count : {1, 100, 5000}) {
    std::vector<float> few(count, 1.0F);
    std::vector<float> many(count * kRanks, 1.0F);
    communicator.all_reduce(few, Op::sum);
    expect(few.back() == kRanks, "all-reduce is wrong");
    communicator.all_gather(few, many);
    expect(many.front() == kRanks && many.back() == kRanks, "all-gather is wrong");
    communicator.reduce_scatter(many, few, Op::max);
    expect(few.back() == kRanks, "reduce-scatter is wrong");
  }
  meet(board.ready);
  board.kibibytes[rank] = proportional_kibibytes() - before;
  meet(board.measured);
}

}  // namespace

TEST_CASE("a communicator of 64 ranks costs a rank under 64 MiB") {
  void* const memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const board = new (memory) Board{};
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        be_rank(*board, rank);
        _exit(0);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        _exit(1);
      }
    }
    children.push_back(child);
  }
  long most = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    waitpid(children[static_cast<std::size_t>(rank)], &status, 0);
    CHECK(status == 0);
    most = std::max(most, board->kibibytes[rank]);
  }
  WARN("the dearest rank: " << most << " KiB");
  CHECK(most > 0);
  CHECK(most < 64 * 1024);
  munmap(memory, sizeof(Board));
}

}  // namespace heddle::test
