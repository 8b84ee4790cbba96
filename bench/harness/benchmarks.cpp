#include "harness/benchmark.hpp"

#include <cstring>

#include "harness/names.hpp"
#include "table/sizes.hpp"

namespace heddle::bench {
namespace {

using table::all_moved;
using table::moved_once;
using table::moved_twice;

// Where part `index` of a buffer lies.
const std::byte* part(const void* buffer, const Step& step, int index) {
  return static_cast<const std::byte*>(buffer) +
         static_cast<std::size_t>(index) * step.call.count * size_of(step.call.type);
}
// The first element of this rank's part.
std::size_t own_position(const Step& step) {
  return static_cast<std::size_t>(step.rank) * step.call.count;
}

void fill_one(const Pattern& pattern, const Step& step, void* send) {
  pattern.fill(send, step.rank, 0, step.call.count);
}
void fill_parts(const Pattern& pattern, const Step& step, void* send) {
  pattern.fill(send, step.rank, 0, step.call.count * static_cast<std::size_t>(step.ranks));
}

std::size_t wrong_gathered(const Pattern& pattern, const Step& step) {
  std::size_t wrong = 0;
  for (int rank = 0; rank < step.ranks; ++rank)
    wrong += pattern.wrong_copy(part(step.call.receive, step, rank), rank, 0, step.call.count);
  return wrong;
}
// What a rank that is not the root must still have: poison, and in place its own data.
std::size_t changed(const Pattern& pattern, const Step& step, int parts) {
  std::size_t wrong = 0;
  for (int index = 0; index < parts; ++index) {
    const std::byte* here = part(step.call.receive, step, index);
    wrong += here == step.call.send ? pattern.wrong_copy(here, step.rank, 0, step.call.count)
                                    : wrong_poison(here, step.call.count, step.call.type);
  }
  return wrong;
}

// Each rank has the parts of an aligned block of ranks and swaps them with the block beside it.
void run_hypercube(Session& session, const Step& step) {
  auto* own = const_cast<std::byte*>(part(step.call.receive, step, step.rank));
  if (own != step.call.send)
    std::memcpy(own, step.call.send, step.call.count * size_of(step.call.type));
  for (int size = 1; size < step.ranks; size *= 2) {
    const int first = step.rank & ~(size - 1), peer = step.rank ^ size;
    Call call = step.call;
    call.count *= static_cast<std::size_t>(size);
    call.send = part(step.call.receive, step, first);
    call.receive = const_cast<std::byte*>(part(step.call.receive, step, first ^ size));
    session.exchange(call, peer, peer);
  }
}

int next_rank(const Step& step) { return (step.rank + 1) % step.ranks; }
int last_rank(const Step& step) { return (step.rank + step.ranks - 1) % step.ranks; }

}  // namespace

const Benchmark kAllReduce = {
    .name = "all_reduce_perf",
    .reduces = true,
    .factor = moved_twice,
    .fill = fill_one,
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          return pattern.wrong_reduced(step.call.receive, 0, step.call.count);
        },
    .run = [](Session& session, const Step& step) { session.all_reduce(step.call); },
};

const Benchmark kAllGather = {
    .name = "all_gather_perf",
    .receive = Parts::per_rank,
    .factor = moved_once,
    .fill = fill_one,
    .wrong = wrong_gathered,
    .run = [](Session& session, const Step& step) { session.all_gather(step.call); },
};

const Benchmark kReduceScatter = {
    .name = "reduce_scatter_perf",
    .reduces = true,
    .send = Parts::per_rank,
    .factor = moved_once,
    .fill = fill_parts,
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          return pattern.wrong_reduced(step.call.receive, own_position(step), step.call.count);
        },
    .run = [](Session& session, const Step& step) { session.reduce_scatter(step.call); },
};

const Benchmark kBroadcast = {
    .name = "broadcast_perf",
    .rooted = true,
    .factor = all_moved,
    .fill =
        [](const Pattern& pattern, const Step& step, void* send) {
          if (step.rank == step.call.root) fill_one(pattern, step, send);
        },
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          return pattern.wrong_copy(step.call.receive, step.call.root, 0, step.call.count);
        },
    .run = [](Session& session, const Step& step) { session.broadcast(step.call); },
};

const Benchmark kReduce = {
    .name = "reduce_perf",
    .reduces = true,
    .rooted = true,
    .factor = all_moved,
    .fill = fill_one,
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          return step.rank == step.call.root
                     ? pattern.wrong_reduced(step.call.receive, 0, step.call.count)
                     : changed(pattern, step, 1);
        },
    .run = [](Session& session, const Step& step) { session.reduce(step.call); },
};

const Benchmark kGather = {
    .name = "gather_perf",
    .rooted = true,
    .receive = Parts::per_rank,
    .factor = moved_once,
    .fill = fill_one,
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          return step.rank == step.call.root ? wrong_gathered(pattern, step)
                                             : changed(pattern, step, step.ranks);
        },
    .run = [](Session& session, const Step& step) { session.gather(step.call); },
};

const Benchmark kScatter = {
    .name = "scatter_perf",
    .rooted = true,
    .send = Parts::per_rank,
    .factor = moved_once,
    .fill =
        [](const Pattern& pattern, const Step& step, void* send) {
          if (step.rank == step.call.root) fill_parts(pattern, step, send);
        },
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          return pattern.wrong_copy(step.call.receive, step.call.root, own_position(step),
                                    step.call.count);
        },
    .run = [](Session& session, const Step& step) { session.scatter(step.call); },
};

const Benchmark kAllToAll = {
    .name = "alltoall_perf",
    .in_place = false,
    .send = Parts::per_rank,
    .receive = Parts::per_rank,
    .factor = moved_once,
    .fill = fill_parts,
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          std::size_t wrong = 0;
          for (int rank = 0; rank < step.ranks; ++rank)
            wrong += pattern.wrong_copy(part(step.call.receive, step, rank), rank,
                                        own_position(step), step.call.count);
          return wrong;
        },
    .run = [](Session& session, const Step& step) { session.all_to_all(step.call); },
};

const Benchmark kSendReceive = {
    .name = "sendrecv_perf",
    .in_place = false,
    .names_op = true,
    .factor = all_moved,
    .fill = fill_one,
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          return pattern.wrong_copy(step.call.receive, last_rank(step), 0, step.call.count);
        },
    .run = [](Session& session,
              const Step& step) { session.exchange(step.call, next_rank(step), last_rank(step)); },
};

const Benchmark kHypercube = {
    .name = "hypercube_perf",
    .power_of_two = true,
    .receive = Parts::per_rank,
    .factor = all_moved,
    .counted = moved_once,
    .fill = fill_one,
    .wrong = wrong_gathered,
    .run = run_hypercube,
};

}  // namespace heddle::bench
