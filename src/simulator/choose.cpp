#include "simulator/choose.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "collectives/names.hpp"
#include "collectives/select.hpp"

namespace heddle::simulator {
namespace {

// The first choice of the software that fits, or null.
const topology::Choice* fitting(const topology::SoftwareModel& software,
                                const collectives::Shape& shape, std::size_t bytes) {
  for (const topology::Choice& choice : software.choices) {
    if (bytes > choice.up_to_bytes) continue;
    if (can_do(collectives::required_algorithm(choice.algorithm, "software.choices"), shape))
      return &choice;
  }
  return nullptr;
}

topology::Protocol protocol_named(const topology::SoftwareModel& software,
                                  const std::string& name) {
  for (const topology::Protocol& protocol : software.protocols)
    if (protocol.name == name) return protocol;
  return {};
}

// The host network is one.
int rails_of(const topology::Machine& machine, int adapters) {
  return std::max(1, adapters < 0 ? machine.adapters.count : adapters);
}

}  // namespace

Chosen choose(const topology::Machine& machine, const Request& request) {
  const int per_host = std::min(machine.ranks_per_host, request.ranks);
  const bool even = request.ranks % per_host == 0;
  Chosen chosen{.algorithm = nullptr,
                .shape = {.collective = request.collective,
                          .ranks = request.ranks,
                          .channels = std::max(request.channels, 1),
                          .ranks_per_host = even ? per_host : 0},
                .protocol = {},
                .why = {}};
  if (const auto* choice = fitting(machine.software, chosen.shape, request.bytes);
      choice != nullptr) {
    chosen.algorithm = collectives::algorithm_named(choice->algorithm);
    chosen.protocol = protocol_named(machine.software, choice->protocol);
    if (request.channels == 0) chosen.shape.channels = choice->channels;
    chosen.why =
        fmt::format("{} of the machine file: {}{}{}", machine.software.name, choice->algorithm,
                    choice->protocol.empty() ? "" : ", ", choice->protocol);
  } else {
    const auto reach = request.ranks <= machine.ranks_per_host ? collectives::Reach::local
                                                               : collectives::Reach::fabric;
    const collectives::Selection selection =
        collectives::choose({.collective = request.collective,
                             .bytes = request.bytes,
                             .ranks = request.ranks,
                             .reach = reach,
                             .forced_channels = request.channels,
                             .ranks_per_host = chosen.shape.ranks_per_host,
                             .rails = rails_of(machine, request.adapters)});
    chosen.algorithm = selection.algorithm;
    chosen.shape.channels = selection.channels;
    chosen.why = selection.why;
  }
  if (request.algorithm.empty()) return chosen;
  chosen.algorithm = &collectives::required_algorithm(request.algorithm, "algorithm");
  if (!can_do(*chosen.algorithm, chosen.shape))
    base::fail(heddleInvalidArgument, "algorithm: {} has no {} of {} ranks, {} a host",
               request.algorithm, base::name_of(request.collective), request.ranks,
               chosen.shape.ranks_per_host);
  chosen.why = fmt::format("{} was asked for", request.algorithm);
  return chosen;
}

}  // namespace heddle::simulator
