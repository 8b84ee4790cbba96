// Where a real EFA device exists, the stand-in keeps away.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "config.hpp"

namespace fs = std::filesystem;
using emulated_efa::has_real_device;

TEST_CASE("a real device is seen by name, vendor or driver") {
  char path[] = "/tmp/emulated_efa_XXXXXX";
  REQUIRE(mkdtemp(path) != nullptr);
  const fs::path root(path);
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
  fs::remove_all(root);
}
