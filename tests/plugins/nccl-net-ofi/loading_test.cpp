// The ways in which NCCL comes to the library, each in a process of its own.
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "catch.hpp"
#include "support/temporary_folder.hpp"

namespace heddle::nccl_net::testing {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status;
  std::string text;
};

Outcome run(const std::string& command) {
  Outcome outcome{-1, ""};
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  while (const std::size_t bytes = fread(part.data(), 1, part.size(), pipe))
    outcome.text.append(part.data(), bytes);
  outcome.status = pclose(pipe);
  return outcome;
}

std::string load(const std::string& name, const std::string& versions, int rounds = 1) {
  return std::string(PROGRAM) + " '" + name + "' " + std::to_string(rounds) + " " + versions;
}

std::string folder() { return fs::path(PLUGIN).parent_path(); }

}  // namespace

TEST_CASE("each generation of NCCL finds its newest version") {
  struct Generation {
    std::string looks_for, finds;
  };
  const Generation generations[] = {
      {"5 4", "5"},                  // 2.12
      {"6 5 4", "6"},                // 2.13 to 2.18
      {"7 6 5", "7"},                // 2.19
      {"8 7 6 5", "8"},              // 2.20 to 2.23
      {"9 8 7 6 5", "9"},            // 2.24, 2.25
      {"10 9 8 7 6", "10"},          // 2.26, 2.27
      {"11 10 9 8 7 6", "11"},       // 2.28, 2.29
      {"12 11 10 9 8 7 6", "12"},    // 2.30
      {"13 12 11 10 9 8 7 6", "12"}  // later
  };
  for (const auto& [looks_for, finds] : generations) {
    const Outcome outcome = run(load(PLUGIN, looks_for));
    CHECK(outcome.text == "v" + finds + " Heddle " + PLUGIN + "\n");
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("LD_PRELOAD from anywhere and under any name is what NCCL asks for") {
  const test::TemporaryFolder elsewhere;
  const std::string copy = elsewhere.path("another-name.so");
  fs::copy_file(PLUGIN, copy);
  const Outcome outcome = run("LD_PRELOAD=" + copy + " " + load("", "11"));
  CHECK(outcome.text == "v11 Heddle " + copy + "\n");
  CHECK(outcome.status == 0);
  CHECK(run(load("", "11")).text.starts_with("not found"));
}

TEST_CASE("NCCL_NET_PLUGIN by its name and by its file") {
  const std::string path = "LD_LIBRARY_PATH=" + folder() + " ";
  CHECK(run(path + load("heddle", "11")).text == std::string("v11 Heddle ") + PLUGIN + "\n");
  CHECK(run(path + load("libnccl-net-heddle.so", "11")).text ==
        std::string("v11 Heddle ") + PLUGIN + "\n");
  CHECK(run(load("heddle", "11")).text.starts_with("not found"));
}

TEST_CASE("a folder with a link of the name that NCCL asks for") {
  const test::TemporaryFolder linked;
  fs::create_symlink(PLUGIN, linked.path("libnccl-net.so"));
  const Outcome outcome = run("LD_LIBRARY_PATH=" + linked.path() + " " + load("", "11"));
  CHECK(outcome.text == "v11 Heddle " + linked.path("libnccl-net.so") + "\n");
}

TEST_CASE("closed and loaded again it works again") {
  const Outcome outcome = run(load(PLUGIN, "11", 3));
  const std::string line = std::string("v11 Heddle ") + PLUGIN + "\n";
  CHECK(outcome.text == line + line + line);
  CHECK(outcome.status == 0);
}

TEST_CASE("it shows the tables and nothing else, and needs no CUDA") {
  const std::string shown = run(std::string("nm -D --defined-only ") + PLUGIN +
                                " | awk '{print $NF}' | sort | tr '\\n' ' '")
                                .text;
  CHECK(shown ==
        "ncclNetPlugin_v10 ncclNetPlugin_v11 ncclNetPlugin_v12 ncclNetPlugin_v5 "
        "ncclNetPlugin_v6 ncclNetPlugin_v7 ncclNetPlugin_v8 ncclNetPlugin_v9 ");
  const std::string needed = run(std::string("readelf -d ") + PLUGIN).text;
  CHECK(needed.find("SONAME") != std::string::npos);
  CHECK(needed.find("[libnccl-net.so]") != std::string::npos);
  for (const char* foreign : {"cuda", "nccl.so", "mpi", "nrt"})
    CHECK(needed.find(foreign) == std::string::npos);
}

}  // namespace heddle::nccl_net::testing
