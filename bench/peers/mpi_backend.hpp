// The control calls of the programs that mpirun starts, and the options of their command lines.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "common.hpp"

namespace heddle::bench::peers {

class MpiControl : public Backend {
 public:
  MpiControl() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void from_rank0(void* data, std::size_t bytes) override {
    MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  double max_of_all(double value) override {
    double most = 0;
    MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
  }

 private:
  int rank_ = 0, ranks_ = 0;
};

inline Options parse_or_abort(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i)
    if (!parse_common(options, i, argc, argv)) {
      std::fprintf(stderr, "unknown option %s; allowed: -b -e -f -t -i --op\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 6);
    }
  return options;
}

}  // namespace heddle::bench::peers
