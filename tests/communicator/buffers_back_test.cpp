// A call that fails gives its buffers back: nothing reads them afterwards, and what else the same
// processes do with each other goes on.
#include <sys/mman.h>

#include <chrono>
#include <optional>
#include <span>
#include <thread>

#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

// Memory that is gone when it is given back, as a large tensor's is.
class Tensor {
 public:
  explicit Tensor(std::size_t count) : count_(count) {
    void* const memory = mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    expect(memory != MAP_FAILED, "no memory");
    data_ = static_cast<float*>(memory);
  }
  ~Tensor() { munmap(data_, count_ * sizeof(float)); }
  Tensor(const Tensor&) = delete;
  std::span<float> values() { return {data_, count_}; }

 private:
  std::size_t count_;
  float* data_;
};

bool fails(Communicator& communicator, std::span<float> values) {
  try {
    communicator.all_reduce(values, Op::sum);
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

TEST_CASE("a send buffer may be unmapped once its operation has failed") {
  // Long messages, so that sockets are full and adapters have some in hand.
  const std::string settings =
      "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp HEDDLE_SLOT_BYTES=16777216 HEDDLE_TIMEOUT=10 "
      "HEDDLE_LOG=none";
  for (int round = 0; round < 4; ++round) {
    const UniqueId pair = UniqueId::make();
    run_ranks(
        3,
        [&](Communicator& communicator, int rank) {
          std::vector<int> few(1 << 18, 1);
          communicator.all_reduce(few, Op::sum);
          std::optional<Communicator> other;
          if (rank != 2) {
            other = Communicator::from_unique_id(pair, 2, rank, {settings});
            other->all_reduce(few, Op::sum);
          }
          {
            Tensor tensor(16 << 20);
            communicator.all_reduce(few, Op::sum);
            if (rank == 2) {
              Work work = communicator.all_reduce_async(tensor.values(), Op::sum);
              std::this_thread::sleep_for(std::chrono::milliseconds(10 + 10 * round));
              communicator.abort();
              return;
            }
            expect(fails(communicator, tensor.values()), "nothing failed");
          }
          for (int i = 0; i < 50; ++i) other->all_reduce(few, Op::sum);
        },
        settings);
  }
}

}  // namespace heddle::test
