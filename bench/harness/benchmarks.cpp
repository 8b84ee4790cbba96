#include "harness/benchmark.hpp"

#include "harness/names.hpp"

namespace heddle::bench {
namespace {

double moved_twice(int ranks) { return 2.0 * (ranks - 1) / ranks; }
double moved_once(int ranks) { return 1.0 * (ranks - 1) / ranks; }

}  // namespace

const Benchmark kAllReduce = {
    .name = "all_reduce_perf",
    .reduces = true,
    .send_parts = one_part,
    .receive_parts = one_part,
    .factor = moved_twice,
    .fill = [](const Pattern& pattern, const Step& step,
               void* send) { pattern.fill(send, step.rank, 0, step.call.count); },
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          return pattern.wrong_reduced(step.call.receive, 0, step.call.count);
        },
    .run = [](Session& session, const Call& call) { session.all_reduce(call); },
};

const Benchmark kAllGather = {
    .name = "all_gather_perf",
    .reduces = false,
    .send_parts = one_part,
    .receive_parts = part_per_rank,
    .factor = moved_once,
    .fill = [](const Pattern& pattern, const Step& step,
               void* send) { pattern.fill(send, step.rank, 0, step.call.count); },
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          const std::size_t bytes = step.call.count * size_of(step.call.type);
          std::size_t wrong = 0;
          for (int rank = 0; rank < step.ranks; ++rank)
            wrong += pattern.wrong_copy(static_cast<const std::byte*>(step.call.receive) +
                                            static_cast<std::size_t>(rank) * bytes,
                                        rank, 0, step.call.count);
          return wrong;
        },
    .run = [](Session& session, const Call& call) { session.all_gather(call); },
};

const Benchmark kReduceScatter = {
    .name = "reduce_scatter_perf",
    .reduces = true,
    .send_parts = part_per_rank,
    .receive_parts = one_part,
    .factor = moved_once,
    .fill =
        [](const Pattern& pattern, const Step& step, void* send) {
          pattern.fill(send, step.rank, 0, step.call.count * static_cast<std::size_t>(step.ranks));
        },
    .wrong =
        [](const Pattern& pattern, const Step& step) {
          return pattern.wrong_reduced(step.call.receive,
                                       step.call.count * static_cast<std::size_t>(step.rank),
                                       step.call.count);
        },
    .run = [](Session& session, const Call& call) { session.reduce_scatter(call); },
};

}  // namespace heddle::bench
