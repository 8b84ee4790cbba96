// The simulator's cost: time an event, and events a second, of whole runs from making the lanes to
// the last event. Arguments are ranks; p4d's machine model, 64 MiB, four channels.
#include <benchmark/benchmark.h>

#include "simulator/engine.hpp"
#include "simulator/event_queue.hpp"
#include "topology/machine_json.hpp"

namespace {

using namespace heddle;

void run_all_reduce(benchmark::State& state, const char* name) {
  topology::Machine machine = topology::load_machine("p4d.24xlarge");
  machine.hosts = static_cast<int>(state.range(0)) / machine.ranks_per_host;
  const auto* algorithm = collectives::algorithm_named(name);
  const collectives::Shape shape{.collective = base::Collective::all_reduce,
                                 .ranks = machine.ranks(),
                                 .channels = 4,
                                 .ranks_per_host = machine.ranks_per_host};
  const simulator::Job job = simulator::job_of(machine, *algorithm, shape, std::size_t{1} << 24, 4);
  std::uint64_t events = 0;
  for (auto _ : state) events += simulator::simulate(job).events;
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
  state.counters["time_per_event"] = benchmark::Counter(
      static_cast<double>(events), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void ring(benchmark::State& state) { run_all_reduce(state, "ring"); }
void tree(benchmark::State& state) { run_all_reduce(state, "tree"); }
void hierarchical(benchmark::State& state) { run_all_reduce(state, "hierarchical"); }

// As many events wait as the argument says; one is taken and another added.
void queue(benchmark::State& state) {
  simulator::EventQueue events;
  std::uint64_t random = 1;
  const auto next = [&] {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<simulator::Time>(random >> 44);
  };
  for (int i = 0; i < state.range(0); ++i) events.add(next(), 0);
  for (auto _ : state) events.add(events.take().time + next(), 0);
}

BENCHMARK(ring)->Arg(16)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(tree)->Arg(16)->Arg(256)->Arg(4096)->Unit(benchmark::kMillisecond);
BENCHMARK(hierarchical)->Arg(16)->Arg(256)->Arg(4096)->Unit(benchmark::kMillisecond);
BENCHMARK(queue)->RangeMultiplier(16)->Range(16, 1 << 16);

}  // namespace

BENCHMARK_MAIN();
