#include "harness/benchmark.hpp"

int main(int argc, char** argv) {
  return heddle::bench::perf_main(heddle::bench::kSendReceive, argc, argv);
}
