// Where a real EFA device exists, the stand-in keeps away.
#include <dlfcn.h>
#include <rdma/providers/fi_prov.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "config.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using emulated_efa::has_real_device;

namespace {

// What libfabric is answered when it loads the module.
bool gives_a_provider() {
  const std::string module = std::string(std::getenv("FI_PROVIDER_PATH")) + "/libefa-fi.so";
  void* const library = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  using Entry = fi_provider*();
  auto* const entry = reinterpret_cast<Entry*>(dlsym(library, "fi_prov_ini"));
  REQUIRE(entry != nullptr);
  return entry() != nullptr;
}

}  // namespace

TEST_CASE("the module gives no provider where a real device is, unless it is forced to") {
  const heddle::test::TemporaryFolder folder;
  const fs::path list = fs::path(folder.path()) / "infiniband";
  setenv("HEDDLE_EMULATED_EFA_DEVICES", list.c_str(), 1);
  CHECK(gives_a_provider());
  fs::create_directories(list / "mlx5_0");
  CHECK(gives_a_provider());
  fs::create_directories(list / "efa_0");
  CHECK_FALSE(gives_a_provider());
  setenv("HEDDLE_EMULATED_EFA_FORCE", "0", 1);
  CHECK_FALSE(gives_a_provider());
  setenv("HEDDLE_EMULATED_EFA_FORCE", "1", 1);
  CHECK(gives_a_provider());
  unsetenv("HEDDLE_EMULATED_EFA_FORCE");
  unsetenv("HEDDLE_EMULATED_EFA_DEVICES");
}

TEST_CASE("a real device is seen by name, vendor or driver") {
  const heddle::test::TemporaryFolder folder;
  const fs::path root(folder.path());
  CHECK_FALSE(has_real_device(root / "nothing"));
  const auto device = [&](const std::string& name, const std::string& vendor,
                          const std::string& driver) {
    fs::create_directories(root / "list" / name / "device");
    std::ofstream(root / "list" / name / "device/vendor") << vendor << "\n";
    fs::create_directory_symlink("../../drivers/" + driver, root / "list" / name / "device/driver");
    const bool found = has_real_device(root / "list");
    fs::remove_all(root / "list");
    return found;
  };
  CHECK_FALSE(device("mlx5_0", "0x15b3", "mlx5_core"));
  CHECK(device("efa_0", "0x0", "other"));
  CHECK(device("rdmap16s27", "0x1d0f", "other"));
  CHECK(device("rdmap16s27", "0x0", "efa"));
}
