#include "tune/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/settings.hpp"
#include "harness/sizes.hpp"
#include "topology/cpu.hpp"
#include "topology/host.hpp"

namespace heddle::bench::tune {
namespace {

struct Place {
  char host[64] = {};  // identity
  char name[64] = {};
  int cores = 1;
  std::size_t memory = 0;
};

constexpr std::size_t kElement = 4;

}  // namespace

World describe_world(Control& control, const std::string& settings) {
  std::vector<std::string> warnings;
  const base::Settings read = base::load_settings(environ, settings, warnings);
  const topology::Host here = topology::this_host(read);
  Place mine;
  // Without shared memory the ranks of a host are as far from each other as hosts are.
  const std::string id = read.shm ? here.id : here.id + std::to_string(control.rank());
  std::strncpy(mine.host, id.c_str(), sizeof mine.host - 1);
  std::strncpy(mine.name, here.name.c_str(), sizeof mine.name - 1);
  mine.cores = topology::usable_cpus();
  mine.memory = topology::machine_facts().memory_bytes;
  std::vector<Place> places(static_cast<std::size_t>(control.ranks()));
  control.all_gather(&mine, places.data(), sizeof mine);
  World world;
  world.rank = control.rank();
  world.ranks = control.ranks();
  std::vector<std::string> hosts;
  for (const Place& place : places) hosts.emplace_back(place.host);
  world.hosts = static_cast<int>(std::set<std::string>(hosts.begin(), hosts.end()).size());
  world.ranks_per_host = topology::even_ranks_per_host(hosts);
  world.host = places.front().name;
  world.cores = places.front().cores;
  world.memory = places.front().memory;
  for (const Place& place : places) {
    world.cores = std::min(world.cores, place.cores);
    world.memory = std::min(world.memory, place.memory);
  }
  return world;
}

const Benchmark& benchmark_of(base::Collective collective) {
  switch (collective) {
    case base::Collective::all_gather: return kAllGather;
    case base::Collective::reduce_scatter: return kReduceScatter;
    case base::Collective::broadcast: return kBroadcast;
    case base::Collective::reduce: return kReduce;
    case base::Collective::gather: return kGather;
    case base::Collective::scatter: return kScatter;
    case base::Collective::all_to_all: return kAllToAll;
    default: return kAllReduce;
  }
}

std::size_t count_of(const Cell& cell, int ranks) {
  const Benchmark& benchmark = benchmark_of(cell.collective);
  const Parts parts = std::max(benchmark.send, benchmark.receive);
  return part_count(cell.bytes, kElement, static_cast<std::size_t>(number_of(parts, ranks)));
}

std::size_t bytes_of(const Cell& cell, int ranks) {
  const int blocks = std::max(base::input_blocks(cell.collective, ranks),
                              base::output_blocks(cell.collective, ranks));
  return count_of(cell, ranks) * kElement * static_cast<std::size_t>(blocks);
}

tuner::Request request_of(const World& world, const Cell& cell, std::size_t slot_bytes) {
  tuner::Request request{};
  request.selection.collective = cell.collective;
  request.selection.bytes = bytes_of(cell, world.ranks);
  request.selection.ranks = world.ranks;
  request.selection.reach =
      world.hosts == 1 ? collectives::Reach::local : collectives::Reach::fabric;
  request.selection.ranks_per_host = world.ranks_per_host;
  request.block_bytes = count_of(cell, world.ranks) * kElement;
  request.hosts = world.hosts;
  request.selection.slot_bytes = slot_bytes;
  return request;
}

}  // namespace heddle::bench::tune
