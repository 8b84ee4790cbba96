// What the adapters look like: names, PCI addresses and limits. The names and buses are those of
// p4d's four adapters up to four, and of p5's 32 beyond; the limits are libfabric's efa provider's
// (1.18 to 2.x), for its two fabrics.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <memory>
#include <string>

#include "config.hpp"

namespace emulated_efa {

struct Limits {
  std::uint64_t caps;
  std::uint64_t mode;
  std::size_t max_message;  // of sends
  std::size_t max_write;
  std::size_t inject;  // of sends
  std::size_t inject_write;
  std::size_t tx, rx;
  std::size_t iov;
  bool null_context_is_silent;  // no context, no completion
};

// Common to both fabrics.
inline constexpr int kMrMode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
inline constexpr std::size_t kImmediateBytes = 4;
inline constexpr std::size_t kKeyBytes = 4;

const Limits& limits_of(std::string_view fabric);

struct InfoDeleter {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoDeleter>;

// rdmap16s27
std::string device_name(int adapter, int adapters);
// The adapter whose domain has this name; -1 when none has.
int adapter_of(const char* domain_name, int adapters);

// One adapter of `adapters` as fi_getinfo shows it. `gid`: where its endpoints will be.
Info describe(int adapter, int adapters, const std::string& fabric, const unsigned char (&gid)[16]);

// Whether the description meets the hints (null: anything); narrows it to what they ask. `hmem`:
// whether memory of devices is offered to those that ask for it.
bool meets(fi_info& info, const fi_info* hints, bool hmem = false);

}  // namespace emulated_efa
