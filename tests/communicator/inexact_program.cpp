// One rank of reductions whose sums depend on their order: inexact_program RANK RANKS FOLDER.
// Prints "ALGORITHM COLLECTIVE COUNT HASH" for each, the hash being of this rank's result. The
// ranks meet in the folder, and go round again, with the same hashes, until it has a file "end".
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "base/hash.hpp"
#include "check_operation.hpp"
#include "meeting_file.hpp"

namespace {

using heddle::Communicator;
using heddle::Op;

constexpr const char* kAlgorithms[] = {"ring", "tree", "one-shot", "halving-doubling"};
// Several rounds, slots and stripes, in the settings below.
constexpr std::size_t kCounts[] = {257, 20011, 150001};
constexpr const char* kSettings = "HEDDLE_SLOT_BYTES=64K HEDDLE_SLOTS=4 HEDDLE_CHANNELS=2";

// No sum of three is exact.
std::vector<float> input(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] =
        1.0F / static_cast<float>(3 + (i * 31 + static_cast<std::size_t>(rank) * 577) % 1009);
  return values;
}

std::string hash_of(std::span<const float> values) {
  return heddle::base::digest(
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::string line(const char* algorithm, const char* collective, std::size_t count,
                 std::span<const float> result) {
  return std::string(algorithm) + " " + collective + " " + std::to_string(count) + " " +
         hash_of(result) + "\n";
}

std::string reductions(Communicator& communicator, const char* algorithm) {
  const int rank = communicator.rank();
  constexpr int kRoot = 1;
  std::string text;
  for (const std::size_t count : kCounts) {
    const auto mine = input(rank, count);
    std::vector<float> result(count);
    communicator.all_reduce(mine, result, Op::sum);
    text += line(algorithm, "all-reduce", count, result);
    communicator.reduce(mine, result, Op::sum, kRoot);
    if (rank == kRoot) text += line(algorithm, "reduce", count, result);
    const auto all = input(rank, count * static_cast<std::size_t>(communicator.size()));
    communicator.reduce_scatter(all, result, Op::sum);
    text += line(algorithm, "reduce-scatter", count, result);
  }
  return text;
}

// Rank 0 decides for all. Without the test that started it nobody would make the file.
bool go_on(Communicator& communicator, const std::string& folder) {
  static const pid_t test = getppid();
  const bool over = std::filesystem::exists(folder + "/end") || getppid() != test;
  std::vector<std::int32_t> end = {over ? 1 : 0};
  communicator.broadcast(end, 0);
  return end[0] == 0;
}

void run(int rank, int ranks, const std::string& folder) {
  std::vector<Communicator> communicators;
  for (const std::string algorithm : kAlgorithms)
    communicators.push_back(
        Communicator::from_unique_id(heddle::test::meet(rank, folder + "/" + algorithm), ranks,
                                     rank, {kSettings + (" HEDDLE_ALGO=" + algorithm)}));
  std::string first;
  do {
    std::string now;
    for (std::size_t i = 0; i < communicators.size(); ++i)
      now += reductions(communicators[i], kAlgorithms[i]);
    if (first.empty()) first = now;
    heddle::test::expect(now == first, "a later round differs:\n" + first + now);
  } while (go_on(communicators[0], folder));
  std::fputs(first.c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: inexact_program RANK RANKS FOLDER\n");
    return 2;
  }
  const int rank = std::atoi(argv[1]);
  try {
    run(rank, std::atoi(argv[2]), argv[3]);
  } catch (const std::exception& error) {
    std::printf("rank %d: %s\n", rank, error.what());
    return 1;
  }
  return 0;
}
