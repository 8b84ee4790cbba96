// The environment: HEDDLE_EMULATED_EFA (adapters), _SEED, _SCRIPT, _FABRIC, _IFACE, _HMEM, _FORCE
// and _DEVICES. Read anew whenever an adapter is opened, so that one process can try several.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "script.hpp"

namespace emulated_efa {

// Memory of devices: none; CUDA's, directly; or CUDA's, by copies that call CUDA (no GPUDirect).
enum class Hmem { none, cuda, copies };

struct Config {
  int adapters = 4;                            // 0: the machine has none
  std::uint64_t seed = 1;                      // 0: everything in order
  std::vector<std::string> fabrics = {"efa"};  // and efa-direct, in the order listed
  std::vector<std::string> interfaces;         // adapter i lies on interface i modulo their number
  Hmem hmem = Hmem::none;
  Script script;
};

// Throws ConfigError.
Config read_config();

// This process's rank, by what launchers say; -1 when none does.
int launched_rank();

// Where the machine lists its devices.
std::filesystem::path device_list();
// Whether the machine has a real EFA device, by what `infiniband` (device_list()) lists: a name
// with efa in it, Amazon's PCI vendor, or a driver named efa.
bool has_real_device(const std::filesystem::path& infiniband);
bool is_forced();

}  // namespace emulated_efa
