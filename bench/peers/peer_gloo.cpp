// Gloo over its TCP transport, meeting through files; `-n RANKS` forks the ranks. Its operations
// are named allreduce (its new interface's ring), allreduce_bcube, and allreduce_hd and
// reduce_scatter (its old interface's halving and doubling, in place).
#include <cmath>  // gloo's headers use it and do not include it

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <vector>

#include "common.hpp"

namespace heddle::bench::peers {
namespace {

class GlooPeer : public Backend {
 public:
  GlooPeer(int rank, int ranks, const std::string& folder, const std::string& interface) {
    gloo::transport::tcp::attr attributes;
    attributes.iface = interface;
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore files(folder);
    const auto join = [&](const std::string& prefix) {
      gloo::rendezvous::PrefixStore store(prefix, files);
      auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
      context->connectFullMesh(store, device);
      return context;
    };
    context_ = join("new");
    old_ = join("old");
  }
  int rank() const override { return context_->rank; }
  int ranks() const override { return context_->size; }
  std::string name() const override { return "Gloo, tcp"; }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    options.setTag(1);
    gloo::barrier(options);
  }
  void from_rank0(void* data, std::size_t bytes) override {
    gloo::BroadcastOptions options(context_);
    options.setOutput(static_cast<char*>(data), bytes);
    options.setRoot(0);
    options.setTag(2);
    gloo::broadcast(options);
  }
  double max_of_all(double value) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(&value, 1);
    options.setReduceFunction([](void* out, const void* a, const void* b, std::size_t n) {
      gloo::max<double>(out, a, b, n);
    });
    options.setTag(3);
    gloo::allreduce(options);
    return value;
  }
  std::function<void()> prepare(const std::string& op, float* send, float* receive,
                                std::size_t count) override {
    const std::size_t part = count / static_cast<std::size_t>(ranks());
    algorithm_.reset();
    if (op == "allreduce" || op == "allreduce_bcube") return all_reduce(op, send, receive, count);
    if (op == "allgather") {
      auto options = std::make_shared<gloo::AllgatherOptions>(context_);
      options->setInput(send, part);
      options->setOutput(receive, count);
      options->setTag(11);
      return [options] { gloo::allgather(*options); };
    }
    const std::vector<float*> buffers{send};
    if (op == "allreduce_hd")
      algorithm_ = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(old_, buffers,
                                                                           static_cast<int>(count));
    else if (op == "reduce_scatter")
      algorithm_ = std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
          old_, buffers, static_cast<int>(count),
          std::vector<int>(static_cast<std::size_t>(ranks()), static_cast<int>(part)));
    else
      return {};
    barrier();  // every rank's receive buffers must be there before the first send
    return [algorithm = algorithm_] { algorithm->run(); };
  }
  float* result(const std::string& op, float* send, float* receive) override {
    return op == "allreduce_hd" || op == "reduce_scatter" ? send : receive;
  }

 private:
  std::function<void()> all_reduce(const std::string& op, float* send, float* receive,
                                   std::size_t count) {
    using Algorithm = gloo::AllreduceOptions::Algorithm;
    using Sum = void (*)(void*, const void*, const void*, std::size_t);
    auto options = std::make_shared<gloo::AllreduceOptions>(context_);
    options->setAlgorithm(op == "allreduce" ? Algorithm::RING : Algorithm::BCUBE);
    options->setInput(send, count);
    options->setOutput(receive, count);
    options->setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
    options->setTag(10);
    return [options] { gloo::allreduce(*options); };
  }

  std::shared_ptr<gloo::rendezvous::Context> context_, old_;
  std::shared_ptr<gloo::Algorithm> algorithm_;  // of the old interface, for this row
};

int run_rank(int rank, int ranks, const std::string& folder, const std::string& interface,
             const Options& options) {
  try {
    GlooPeer peer(rank, ranks, folder, interface);
    run(peer, options);
    peer.barrier();
    std::fflush(stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_gloo: rank %d: %s\n", rank, error.what());
    return 3;
  }
}

int fork_ranks(int ranks, const std::string& interface, const Options& options) {
  char folder[] = "/tmp/peer_gloo.XXXXXX";
  if (mkdtemp(folder) == nullptr) {
    std::perror("mkdtemp");
    return 1;
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(run_rank(rank, ranks, folder, interface, options));
    }
    children.push_back(pid);
  }
  int failed = 0;
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0) failed = 1;
  }
  std::filesystem::remove_all(folder);
  return failed;
}

}  // namespace
}  // namespace heddle::bench::peers

int main(int argc, char** argv) {
  using namespace heddle::bench::peers;
  Options options;
  int ranks = 2;
  std::string interface = "lo";
  for (int i = 1; i < argc; ++i) {
    if (parse_common(options, i, argc, argv)) continue;
    const std::string name = argv[i];
    if (i + 1 < argc && name == "-n") {
      ranks = std::atoi(argv[++i]);
    } else if (i + 1 < argc && name == "--iface") {
      interface = argv[++i];
    } else {
      std::fprintf(stderr, "unknown option %s; allowed: -n --iface -b -e -f -t -i --op\n", argv[i]);
      return 6;
    }
  }
  return fork_ranks(ranks, interface, options);
}
