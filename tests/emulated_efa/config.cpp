#include "config.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace emulated_efa {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::uint64_t number(const char* name, std::uint64_t otherwise, std::uint64_t least,
                     std::uint64_t most) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || *end != 0 || value < least || value > most)
    throw ConfigError(
        fmt::format("{}={}: a number from {} to {} is allowed", name, text, least, most));
  return value;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!(file && text << file.rdbuf()))
    throw ConfigError(
        fmt::format("HEDDLE_EMULATED_EFA_SCRIPT={}: cannot be read, or is empty", path));
  return text.str();
}

}  // namespace

int launched_rank() {
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK"}) {
    const std::string text = variable(name);
    int value = -1;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{})
      return value;
  }
  return -1;
}

Config read_config() {
  Config config;
  config.adapters = static_cast<int>(number("HEDDLE_EMULATED_EFA", 4, 0, kMaxAdapters));
  config.seed = number("HEDDLE_EMULATED_EFA_SEED", 1, 0, UINT64_MAX);
  if (const std::string fabric = variable("HEDDLE_EMULATED_EFA_FABRIC"); !fabric.empty()) {
    if (fabric == "both")
      config.fabrics = {"efa-direct", "efa"};
    else if (fabric == "efa" || fabric == "efa-direct")
      config.fabrics = {fabric};
    else
      throw ConfigError(fmt::format(
          "HEDDLE_EMULATED_EFA_FABRIC={}: efa, efa-direct and both are allowed", fabric));
  }
  if (const std::string hmem = variable("HEDDLE_EMULATED_EFA_HMEM"); !hmem.empty()) {
    if (hmem != "none" && hmem != "cuda" && hmem != "copies")
      throw ConfigError(
          fmt::format("HEDDLE_EMULATED_EFA_HMEM={}: none, cuda and copies are allowed", hmem));
    config.hmem = hmem == "none" ? Hmem::none : hmem == "cuda" ? Hmem::cuda : Hmem::copies;
  }
  std::istringstream names(variable("HEDDLE_EMULATED_EFA_IFACE"));
  for (std::string name; std::getline(names, name, ',');) config.interfaces.push_back(name);
  if (const std::string path = variable("HEDDLE_EMULATED_EFA_SCRIPT"); !path.empty()) {
    const int rank = launched_rank();
    config.script =
        parse_script(contents(path), path, rank < 0 ? std::nullopt : std::optional(rank));
  }
  return config;
}

fs::path device_list() {
  const std::string elsewhere = variable("HEDDLE_EMULATED_EFA_DEVICES");
  return elsewhere.empty() ? "/sys/class/infiniband" : elsewhere;
}

bool has_real_device(const fs::path& infiniband) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(infiniband, error)) {
    if (entry.path().filename().string().find("efa") != std::string::npos) return true;
    std::string vendor;
    std::ifstream(entry.path() / "device/vendor") >> vendor;
    if (vendor == "0x1d0f") return true;
    const fs::path driver = fs::read_symlink(entry.path() / "device/driver", error);
    if (driver.filename() == "efa") return true;
  }
  return false;
}

bool is_forced() { return variable("HEDDLE_EMULATED_EFA_FORCE") == "1"; }

}  // namespace emulated_efa
