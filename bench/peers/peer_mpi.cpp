// MPI itself: built once against Open MPI and once against MPICH.
#include "mpi_backend.hpp"

namespace heddle::bench::peers {
namespace {

class MpiPeer : public MpiControl {
 public:
  std::string name() const override {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    const std::string text(version, static_cast<std::size_t>(length));
    return text.substr(0, text.find_first_of(",\n"));
  }
  std::function<void()> prepare(const std::string& op, float* send, float* receive,
                                std::size_t count) override {
    const int all = static_cast<int>(count), part = all / ranks();
    const MPI_Comm world = MPI_COMM_WORLD;
    if (op == "allreduce")
      return [=] { MPI_Allreduce(send, receive, all, MPI_FLOAT, MPI_SUM, world); };
    if (op == "allgather")
      return [=] { MPI_Allgather(send, part, MPI_FLOAT, receive, part, MPI_FLOAT, world); };
    if (op == "reduce_scatter")
      return [=] { MPI_Reduce_scatter_block(send, receive, part, MPI_FLOAT, MPI_SUM, world); };
    return {};
  }
};

}  // namespace
}  // namespace heddle::bench::peers

int main(int argc, char** argv) {
  using namespace heddle::bench::peers;
  MPI_Init(&argc, &argv);
  const Options options = parse_or_abort(argc, argv);
  MpiPeer peer;
  run(peer, options);
  MPI_Finalize();
}
