// from_mpi with communicators that are parts of MPI's world: run with four ranks or more. Each part
// computes on its own, then all together.
#include <cstdio>

#include "check_operation.hpp"
#include "heddle/mpi.hpp"

namespace heddle::test {
namespace {

void check(Communicator& communicator, int rank, int ranks) {
  expect(communicator.rank() == rank, "it has another rank");
  expect(communicator.size() == ranks, "it has another size");
  for (const auto collective : {base::Collective::all_reduce, base::Collective::all_gather})
    check_operation(communicator, {collective, heddleInt32, heddleSum, ranks, 10'007}, false);
}

void run() {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(ranks >= 4, "run it with four ranks or more");
  // Even and odd ranks, each part in reverse order.
  const int color = rank % 2;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, color, -rank, &part);
  auto mine = from_mpi(part);
  MPI_Comm_free(&part);  // no longer needed
  const int in_part = (ranks - color + 1) / 2;
  check(mine, in_part - 1 - rank / 2, in_part);
  auto all = from_mpi(MPI_COMM_WORLD);
  check(all, rank, ranks);
  check(mine, in_part - 1 - rank / 2, in_part);  // the part still works beside the whole
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &part);
  auto alone = from_mpi(part);
  MPI_Comm_free(&part);
  check(alone, 0, 1);
}

}  // namespace
}  // namespace heddle::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    heddle::test::run();
    std::printf("right\n");
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}
