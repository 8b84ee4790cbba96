// Every algorithm of the collectives room runs, and takes what its price says where that is simple.
#include <algorithm>

#include "base/error.hpp"
#include "catch.hpp"
#include "collectives/schedule.hpp"
#include "simulator/choose.hpp"
#include "simulator/engine.hpp"
#include "timed_machine.hpp"
#include "topology/machine_json.hpp"

namespace heddle::simulator {
namespace {

TEST_CASE("every algorithm of every collective runs to its end") {
  auto machine = plain_machine();
  for (const auto& algorithm : collectives::algorithms())
    for (int c = 0; c < base::kCollectives; ++c)
      for (const int hosts : {1, 2, 4})
        for (const std::size_t count : {std::size_t{1}, std::size_t{100000}}) {
          machine.hosts = hosts;
          const collectives::Shape shape{.collective = static_cast<base::Collective>(c),
                                         .ranks = machine.ranks(),
                                         .channels = 2,
                                         .ranks_per_host = machine.ranks_per_host};
          if (!can_do(algorithm, shape)) continue;
          INFO(algorithm.name << " " << base::name_of(shape.collective) << " " << hosts
                              << " hosts, count " << count);
          const Result result = simulate(job_of(machine, algorithm, shape, count, 4));
          CHECK(result.moves > 0);
          CHECK((hosts == 1 || result.seconds > 10e-6));
        }
}

TEST_CASE("a ring's all-reduce is bound by the adapter it crosses") {
  auto machine = plain_machine();
  machine.adapters.latency = 0;
  const auto* ring = collectives::algorithm_named("ring");
  const collectives::Shape shape{
      .collective = base::Collective::all_reduce, .ranks = 8, .channels = 1};
  const std::size_t count = std::size_t{1} << 22;
  const double least = 2.0 * 7 / 8 * static_cast<double>(count) * 4 / 1e9;
  const double seconds = simulate(job_of(machine, *ring, shape, count, 4)).seconds;
  // Two rounds at most wait at the ends of the pipeline.
  CHECK(seconds >= least);
  CHECK(seconds <= least * 1.25);
}

TEST_CASE("a ring takes 2 (n - 1) latencies for a short message of all hosts") {
  auto machine = plain_machine();
  machine.hosts = 8;
  machine.ranks_per_host = 1;
  const auto* ring = collectives::algorithm_named("ring");
  const collectives::Shape shape{
      .collective = base::Collective::all_reduce, .ranks = 8, .channels = 1};
  const double seconds = simulate(job_of(machine, *ring, shape, 8, 4)).seconds;
  CHECK(seconds == Approx(14 * (10e-6 + 32e-9)));
}

TEST_CASE("the software of a machine chooses, or heddle's table, or who asks") {
  auto machine = topology::load_machine("p4d.24xlarge");
  const auto all_reduce = base::Collective::all_reduce;
  CHECK(choose(machine, {all_reduce, 8, 16}).protocol.name == "LL");
  CHECK(choose(machine, {all_reduce, 1 << 28, 16}).shape.channels == 16);
  CHECK(choose(machine, {all_reduce, 8, 16, -1, "tree", 3}).algorithm->name == "tree");
  CHECK(choose(machine, {all_reduce, 8, 16, -1, "tree", 3}).shape.channels == 3);
  CHECK_THROWS_AS(choose(machine, {all_reduce, 8, 16, -1, "rnig"}), base::Error);
  CHECK_THROWS_AS(choose(machine, {base::Collective::all_to_all, 8, 16, -1, "tree"}), base::Error);
  machine.software.choices.clear();
  CHECK(choose(machine, {all_reduce, 8, 2}).algorithm->name == "one-shot");
}

TEST_CASE("heddle's table counts the adapters that the job is given") {
  auto machine = topology::load_machine("p4d.24xlarge");
  machine.software.choices.clear();
  machine.ranks_per_host = 1;
  const auto why = [&](int adapters) {
    return choose(machine, {.collective = base::Collective::all_reduce,
                            .bytes = 1 << 20,
                            .ranks = 2,
                            .adapters = adapters})
        .why;
  };
  CHECK_THAT(why(-1), Catch::Contains("several rails"));
  CHECK_THAT(why(4), Catch::Contains("several rails"));
  CHECK_THAT(why(1), !Catch::Contains("several rails"));
  CHECK_THAT(why(0), !Catch::Contains("several rails"));
}

TEST_CASE("more of what a machine has is never slower") {
  const auto machine = topology::load_machine("p4d.24xlarge");
  const auto time = [](const topology::Machine& m, std::size_t bytes) {
    const Chosen chosen = choose(m, {base::Collective::all_reduce, bytes, m.ranks()});
    Job job = job_of(m, *chosen.algorithm, chosen.shape, bytes / 4, 4);
    job.protocol = chosen.protocol;
    return simulate(job).seconds;
  };
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{1} << 24, std::size_t{1} << 29}) {
    const double now = time(machine, bytes);
    auto better = machine;
    better.adapters.bandwidth *= 2;
    CHECK(time(better, bytes) <= now);
    better = machine;
    better.adapters.latency = 0;
    CHECK(time(better, bytes) <= now);
    better = machine;
    better.rank.lane_bandwidth *= 2;
    CHECK(time(better, bytes) <= now);
  }
}

}  // namespace
}  // namespace heddle::simulator
