#include "harness/control.hpp"
#include "heddle/mpi.hpp"

namespace heddle::bench {
namespace {

// MPI ends the whole job when a rank dies, so that its calls need no deadline of ours.
class MpiControl : public Control {
 public:
  MpiControl() {
    detail::check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    detail::check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks_), "MPI_Comm_size");
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void barrier() override { detail::check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }
  void all_gather(const void* send, void* receive, std::size_t bytes) override {
    const int count = static_cast<int>(bytes);
    detail::check_mpi(
        MPI_Allgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, MPI_COMM_WORLD),
        "MPI_Allgather");
  }
  // MPI_Abort of the first ends the others, most often before they say the same.
  bool is_news(std::string_view) override { return true; }

 private:
  int rank_ = 0, ranks_ = 0;
};

}  // namespace

std::unique_ptr<Control> mpi_control() { return std::make_unique<MpiControl>(); }

}  // namespace heddle::bench
