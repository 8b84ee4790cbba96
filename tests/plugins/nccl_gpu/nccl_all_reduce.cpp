// All-reduces of floats by real NCCL, one process a rank, all on GPU 0: every value checked, then
// timed. nccl_gpu_test.py starts the processes and says by what network.
//
// Prints {"bytes", "wrong", "seconds"} a line for each size, rank 0 alone. Ends with 0, 77 when
// there is no GPU here, or 1 and the reason.
#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSkipped = 77;

struct Options {
  int rank = 0;
  int ranks = 2;
  std::string id_file;
  std::size_t least = 8;
  std::size_t most = std::size_t{256} << 20;
  double patience = 60;  // s, for one all-reduce
  bool probe = false;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(result));
}
void check(ncclResult_t result, const char* call) {
  if (result != ncclSuccess)
    throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(result) + ": " +
                             ncclGetLastError(nullptr));
}

// The id goes through a file that appears whole.
ncclUniqueId exchange_id(const Options& options) {
  ncclUniqueId id;
  if (options.rank == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    const std::string part = options.id_file + ".part";
    std::ofstream(part, std::ios::binary).write(id.internal, sizeof id.internal);
    std::filesystem::rename(part, options.id_file);
    return id;
  }
  const auto begin = Clock::now();
  while (!std::filesystem::exists(options.id_file)) {
    if (seconds_since(begin) > options.patience) throw std::runtime_error("rank 0 gave no id");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ifstream(options.id_file, std::ios::binary).read(id.internal, sizeof id.internal);
  return id;
}

// Small whole numbers: every order of addition gives the same sum.
float value(int rank, std::size_t element) {
  return static_cast<float>(element % 251 + static_cast<std::size_t>(rank) * 3);
}

class Job {
 public:
  explicit Job(const Options& options) : options_(options) {
    check(cudaSetDevice(0), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    const std::size_t floats = options.most / sizeof(float);
    host_.resize(floats);
    check(cudaMalloc(&from_, options.most), "cudaMalloc");
    check(cudaMalloc(&to_, options.most), "cudaMalloc");
    for (std::size_t i = 0; i < floats; ++i) host_[i] = value(options.rank, i);
    check(cudaMemcpy(from_, host_.data(), options.most, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(ncclCommInitRank(&comm_, options.ranks, exchange_id(options), options.rank),
          "ncclCommInitRank");
  }

  void run() {
    for (std::size_t bytes = options_.least;; bytes = std::min(bytes * 8, options_.most)) {
      measure(bytes);
      if (bytes >= options_.most) break;
    }
    check(ncclCommDestroy(comm_), "ncclCommDestroy");
  }

 private:
  // The processes take turns on the GPU, so that a hop costs a time slice: few repetitions.
  static int repetitions(std::size_t bytes) {
    return bytes <= (std::size_t{1} << 18) ? 10 : bytes <= (std::size_t{1} << 24) ? 5 : 3;
  }

  void all_reduce(std::size_t bytes) {
    check(ncclAllReduce(from_, to_, bytes / sizeof(float), ncclFloat, ncclSum, comm_, stream_),
          "ncclAllReduce");
    const auto begin = Clock::now();
    for (;;) {
      const cudaError_t done = cudaStreamQuery(stream_);
      if (done == cudaSuccess) return;
      if (done != cudaErrorNotReady) check(done, "cudaStreamQuery");
      ncclResult_t error = ncclSuccess;
      check(ncclCommGetAsyncError(comm_, &error), "ncclCommGetAsyncError");
      check(error, "all-reduce");
      if (seconds_since(begin) > options_.patience)
        throw std::runtime_error("an all-reduce of " + std::to_string(bytes) + " bytes hangs");
      std::this_thread::yield();
    }
  }

  void measure(std::size_t bytes) {
    check(cudaMemset(to_, 0xff, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    all_reduce(bytes);
    const std::size_t wrong = count_wrong(bytes);
    const auto begin = Clock::now();
    for (int i = 0; i < repetitions(bytes); ++i) all_reduce(bytes);
    const double seconds = seconds_since(begin) / repetitions(bytes);
    if (options_.rank == 0 || wrong > 0) {
      std::printf("{\"bytes\": %zu, \"wrong\": %zu, \"seconds\": %.9f}\n", bytes, wrong, seconds);
      std::fflush(stdout);
    }
    if (wrong > 0) throw std::runtime_error(std::to_string(wrong) + " values are wrong");
  }

  std::size_t count_wrong(std::size_t bytes) {
    check(cudaMemcpy(host_.data(), to_, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) {
      float sum = 0;
      for (int rank = 0; rank < options_.ranks; ++rank) sum += value(rank, i);
      wrong += host_[i] != sum;
    }
    return wrong;
  }

  Options options_;
  cudaStream_t stream_ = nullptr;
  std::vector<float> host_;
  float *from_ = nullptr, *to_ = nullptr;
  ncclComm_t comm_ = nullptr;
};

// "" when there is a GPU, else why not.
std::string why_no_gpu() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess) return cudaGetErrorString(result);
  return count == 0 ? "no GPU" : "";
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App program("All-reduces by NCCL on one GPU, checked and timed");
  program.add_option("--rank", options.rank, "this process's");
  program.add_option("--ranks", options.ranks, "how many");
  program.add_option("--id-file", options.id_file, "where rank 0 leaves NCCL's id");
  program.add_option("--least", options.least, "bytes of the first size; each is 8 times the last");
  program.add_option("--most", options.most, "bytes of the last size");
  program.add_option("--patience", options.patience, "seconds that one all-reduce may take");
  program.add_flag("--probe", options.probe, "only say whether there is a GPU");
  CLI11_PARSE(program, argc, argv);
  if (const std::string why = why_no_gpu(); !why.empty()) {
    std::printf("SKIPPED: %s\n", why.c_str());
    return kSkipped;
  }
  if (options.probe) return 0;
  try {
    Job(options).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", options.rank, error.what());
    std::fflush(nullptr);
    _exit(1);  // NCCL's threads and kernels may still wait for the other rank
  }
}
