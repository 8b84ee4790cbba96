// The library as NCCL of each generation opens and uses it.
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "catch.hpp"
#include "nccl_table.hpp"

namespace heddle::test {
namespace {

using abi::Function;

class Library {
 public:
  Library() : handle_(dlopen(HEDDLE_TUNER_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { dlclose(handle_); }

  void* handle() const { return handle_; }
  void* symbol(int version) const {
    return dlsym(handle_, ("ncclTunerPlugin_v" + std::to_string(version)).c_str());
  }
  template <typename Tuner>
  const Tuner& tuner(int version) const {
    void* const found = symbol(version);
    if (found == nullptr) throw std::runtime_error("no version " + std::to_string(version));
    return *static_cast<const Tuner*>(found);
  }

 private:
  void* handle_;
};

class Machine {
 public:
  explicit Machine(const char* name) { setenv("HEDDLE_TUNING_FILE", name, 1); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { unsetenv("HEDDLE_TUNING_FILE"); }
};

constexpr std::size_t kSmall = 1024, kLarge = std::size_t{1} << 33;

// The table after a call of a version that is like v4.
template <typename Tuner>
Pair run_of(const Tuner& tuner, void* context, std::size_t bytes) {
  NcclTable table = all_reduce_table();
  int channels = 0;
  CHECK(tuner.collective(context, Function::all_reduce, bytes, 1, table.as_declared(), 7, 3, 0,
                         &channels) == abi::Result::success);
  CHECK(channels == 0);
  CHECK(table.is_guarded());
  return table.run();
}

// 16 nodes of 8.
template <typename Tuner>
void check_like_v5(int version) {
  const Library library;
  const Tuner& tuner = library.tuner<Tuner>(version);
  CHECK(tuner.name == std::string("Heddle"));
  void* context = nullptr;
  REQUIRE(tuner.init(&context, 7, 128, 16, nullptr, nullptr, nullptr) == abi::Result::success);
  CHECK(run_of(tuner, context, kSmall) == kTreeSimple);
  CHECK(run_of(tuner, context, kLarge) == kRingSimple);
  CHECK(tuner.finalize(context) == abi::Result::success);
}

TEST_CASE("each NCCL finds the newest version that it knows") {
  const Library library;
  struct Generation {
    const char* nccl;
    int newest, oldest, found;
  };
  for (const Generation& nccl : std::vector<Generation>{{"2.19", 1, 1, 0},
                                                        {"2.21", 2, 2, 2},
                                                        {"2.22", 3, 2, 3},
                                                        {"2.24", 4, 2, 4},
                                                        {"2.27", 4, 2, 4},
                                                        {"2.28.9", 5, 2, 5},
                                                        {"2.29", 5, 2, 5},
                                                        {"2.30", 6, 2, 6},
                                                        {"later", 7, 2, 6}}) {
    INFO("NCCL " << nccl.nccl);
    int found = 0;
    for (int version = nccl.newest; version >= nccl.oldest && found == 0; --version)
      if (library.symbol(version) != nullptr) found = version;
    CHECK(found == nccl.found);
  }
}

TEST_CASE("its SONAME answers what NCCL asks for by default, as under LD_PRELOAD") {
  const Library library;
  void* const asked = dlopen("libnccl-tuner.so", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  CHECK(asked == library.handle());
  if (asked != nullptr) dlclose(asked);
}

TEST_CASE("v2 chooses between nodes, unless the user did or there is CollNet") {
  const Machine machine("p5.48xlarge");
  const Library library;
  const auto& tuner = library.tuner<abi::TunerV2>(2);
  const auto chosen = [&](std::size_t bytes, int collnet) {
    void* context = nullptr;
    REQUIRE(tuner.init(128, 16, nullptr, &context) == abi::Result::success);
    int algorithm = abi::kUndefined, protocol = abi::kUndefined, channels = 0;
    CHECK(tuner.collective(context, Function::all_reduce, bytes, collnet, 1, 1, &algorithm,
                           &protocol, &channels) == abi::Result::success);
    CHECK(channels == 0);
    CHECK(tuner.destroy(context) == abi::Result::success);
    return Pair{algorithm, protocol};
  };
  CHECK(chosen(kSmall, 0) == kTreeSimple);
  CHECK(chosen(kLarge, 0) == kRingSimple);
  CHECK(chosen(kSmall, 1) == Pair{-1, -1});
  setenv("NCCL_PROTO", "LL", 1);
  CHECK(chosen(kSmall, 0) == Pair{-1, -1});
  unsetenv("NCCL_PROTO");
}

TEST_CASE("v3 fills the table, of six rows too") {
  const Machine machine("p5.48xlarge");
  const Library library;
  const auto& tuner = library.tuner<abi::TunerV3>(3);
  void* context = nullptr;
  REQUIRE(tuner.init(128, 16, nullptr, &context) == abi::Result::success);
  for (const int algorithms : {6, 7}) {
    NcclTable table = all_reduce_table(algorithms);
    int channels = 0;
    CHECK(tuner.collective(context, Function::all_reduce, kSmall, 1, table.as_declared(),
                           algorithms, 3, &channels) == abi::Result::success);
    CHECK(channels == 0);
    CHECK(table.run() == kTreeSimple);
    CHECK(table.is_guarded());
  }
  CHECK(tuner.destroy(context) == abi::Result::success);
}

TEST_CASE("v4 fills the table") {
  const Machine machine("p5.48xlarge");
  const Library library;
  const auto& tuner = library.tuner<abi::TunerV4>(4);
  void* context = nullptr;
  REQUIRE(tuner.init(128, 16, nullptr, &context) == abi::Result::success);
  CHECK(run_of(tuner, context, kSmall) == kTreeSimple);
  CHECK(run_of(tuner, context, kLarge) == kRingSimple);
  CHECK(tuner.destroy(context) == abi::Result::success);
}

TEST_CASE("v5 fills the table") {
  const Machine machine("p5.48xlarge");
  check_like_v5<abi::TunerV5>(5);
}

TEST_CASE("v6 fills the table, and leaves chunks to NCCL") {
  const Machine machine("p5.48xlarge");
  check_like_v5<abi::TunerV6>(6);
  CHECK(Library().tuner<abi::TunerV6>(6).chunk_size == nullptr);
}

TEST_CASE("it survives being closed and opened again, as NCCL does between communicators") {
  const Machine machine("p5.48xlarge");
  for (int i = 0; i < 5; ++i) check_like_v5<abi::TunerV5>(5);
}

}  // namespace
}  // namespace heddle::test
