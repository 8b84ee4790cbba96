// Heddle in the peers' harness, started by mpirun as they are; MPI carries only the control calls.
#include <exception>

#include "heddle/mpi.hpp"
#include "mpi_backend.hpp"

namespace heddle::bench::peers {
namespace {

class HeddlePeer : public MpiControl {
 public:
  HeddlePeer() : communicator_(from_mpi(MPI_COMM_WORLD)) {}
  std::string name() const override {
    int version = 0;
    heddleGetVersion(&version);
    return "Heddle " + std::to_string(version);
  }
  std::function<void()> prepare(const std::string& op, float* send, float* receive,
                                std::size_t count) override {
    const std::size_t part = count / static_cast<std::size_t>(ranks());
    if (op == "allreduce")
      return [=, this] { communicator_.all_reduce(send, receive, count, heddleFloat32, Op::sum); };
    if (op == "allgather")
      return [=, this] { communicator_.all_gather(send, receive, part, heddleFloat32); };
    if (op == "reduce_scatter")
      return
          [=, this] { communicator_.reduce_scatter(send, receive, part, heddleFloat32, Op::sum); };
    return {};
  }

 private:
  Communicator communicator_;
};

}  // namespace
}  // namespace heddle::bench::peers

int main(int argc, char** argv) {
  using namespace heddle::bench::peers;
  MPI_Init(&argc, &argv);
  const Options options = parse_or_abort(argc, argv);
  try {
    HeddlePeer peer;
    run(peer, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_heddle: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
}
