// The bits that many all-reduces of inexact floats come to, as one number: whatever happens to the
// rails meanwhile, it stays the same. rails_fingerprint ROUNDS, under mpirun.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "heddle/mpi.hpp"

namespace {

constexpr std::size_t kCount = 1 << 19;

// Each round adds to what the one before gave: a wrong bit stays to the end.
std::string fingerprint(heddle::Communicator& communicator, int rounds) {
  std::mt19937 random(static_cast<unsigned>(1 + communicator.rank()));
  std::vector<float> own(kCount), sum(kCount), result(kCount);
  for (float& value : own) value = static_cast<float>(random()) * 1e-7F - 200;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kCount; ++i) sum[i] = own[i] + 0.17F * result[i];
    communicator.all_reduce(sum, result, heddle::Op::sum);
    if (communicator.rank() == 0 && round % 10 == 0) {
      std::printf("round %d\n", round);
      std::fflush(stdout);
    }
  }
  return heddle::base::digest(
      {reinterpret_cast<const char*>(result.data()), kCount * sizeof(float)});
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    auto communicator = heddle::from_mpi(MPI_COMM_WORLD);
    const std::string hash = fingerprint(communicator, argc > 1 ? std::atoi(argv[1]) : 1);
    std::printf("fingerprint of rank %d: %s\n", communicator.rank(), hash.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
