// One rank as a program of its own: rank_program RANK RANKS FILE [MOST]. Rank 0 writes the unique
// id to the file, the others wait for it. Runs every collective, with up to MOST elements, and says
// "right" or what is wrong.
#include <cstdio>
#include <cstdlib>

#include "check_operation.hpp"
#include "meeting_file.hpp"

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: rank_program RANK RANKS FILE [MOST]\n");
    return 2;
  }
  const int rank = std::atoi(argv[1]);
  const int ranks = std::atoi(argv[2]);
  const std::size_t most = argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 1 << 20;
  try {
    auto communicator =
        heddle::Communicator::from_unique_id(heddle::test::meet(rank, argv[3]), ranks, rank);
    for (int c = 0; c < heddle::base::kCollectives; ++c) {
      const auto collective = static_cast<heddle::base::Collective>(c);
      for (const std::size_t count : {1, 1009, 104729, 1 << 20})
        for (const bool in_place : {false, true})
          if (count <= most && (!in_place || heddle::test::has_in_place(collective)))
            heddle::test::check_operation(
                communicator, {collective, heddleFloat32, heddleSum, ranks, count}, in_place);
    }
  } catch (const std::exception& error) {
    std::printf("rank %d: %s\n", rank, error.what());
    return 1;
  }
  std::printf("rank %d: right\n", rank);
  return 0;
}
