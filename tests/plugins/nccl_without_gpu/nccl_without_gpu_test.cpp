// Real NCCL and the plugin as it was built, as far as NCCL goes without a GPU: it finds, loads and
// starts the plugin, and its bootstrap gathers over it (NCCL_OOB_NET_ENABLE), each rank a process.
// Not a word of NCCL's is stood in for; where this NCCL is another than is known, it prints
// SKIPPED.
#include <sstream>

#include "../nccl-net-ofi/processes.hpp"
#include "catch.hpp"
#include "inside_nccl.hpp"
#include "support/temporary_folder.hpp"

namespace {

using heddle::nccl_net::testing::expect;
using heddle::nccl_net::testing::Other;
using heddle::nccl_net::testing::run_process;
using heddle::nccl_net::testing::run_processes;
using heddle::nccl_net::testing::Variables;
using heddle::nccl_net::testing::operator+;
using heddle::test::TemporaryFolder;
using inside_nccl::Communicator;
using inside_nccl::Library;

constexpr int kInvalidUsage = 5;  // ncclResult_t

Variables with_plugin(const std::string& log) {
  return {{"NCCL_NET_PLUGIN", PLUGIN}, {"HEDDLE_PROVIDER", "tcp"},  {"HEDDLE_IFACE", "lo"},
          {"NCCL_DEBUG", "INFO"},      {"NCCL_DEBUG_FILE", log},    {"NCCL_SOCKET_IFNAME", "lo"},
          {"NCCL_RAS_ENABLE", "0"},    {"NCCL_DEBUG_SUBSYS", "ALL"}};
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// That NCCL's log has the lines, in this order.
void expect_lines(const std::string& file, const std::vector<std::string>& lines) {
  const std::string text = text_of(file);
  std::size_t at = 0;
  for (const auto& line : lines) {
    const std::size_t found = text.find(line, at);
    expect(found != std::string::npos, "NCCL's log has no \"" + line + "\":\n" + text);
    at = found;
  }
}

// Why NCCL here cannot be looked into; a process of its own, as it may crash.
std::string why_not(bool needs_layout) {
  return run_process({"probe", {}, [&](const Other&) {
                        const Library nccl;
                        expect(nccl.missing.empty(), nccl.missing);
                        expect(!needs_layout || nccl.layout != nullptr,
                               "nothing is known of the inside of NCCL " +
                                   std::to_string(nccl.version));
                      }});
}

bool skipped(bool needs_layout = false) {
  const std::string why = why_not(needs_layout);
  if (!why.empty()) std::printf("SKIPPED: %s\n", why.c_str());
  return !why.empty();
}

// As a communicator's begin and end.
int init_result() {
  Library nccl;
  inside_nccl::UniqueId id;  // NCCL reads its settings by this
  expect(nccl.unique_id(&id) == 0, "ncclGetUniqueId");
  Communicator communicator;
  const int result = nccl.net_init(communicator.data());
  if (result == 0) expect(nccl.net_finalize(communicator.data()) == 0, "ncclNetFinalize");
  return result;
}

void gather(const Other& other, int rank) {
  Library nccl;
  inside_nccl::UniqueId id;
  if (rank == 0) {
    expect(nccl.unique_id(&id) == 0, "ncclGetUniqueId");
    other.tell(id);
  } else {
    expect(nccl.bootstrap_net_init() == 0, "bootstrapNetInit");
    id = other.hear<inside_nccl::UniqueId>();
  }
  Communicator communicator;
  communicator.set(*nccl.layout, rank, 2);
  expect(nccl.net_init(communicator.data()) == 0, "ncclNetInit");
  expect(nccl.bootstrap_init(1, id.data(), communicator.data()) == 0, "bootstrapInit");
  void* const bootstrap = communicator.bootstrap(*nccl.layout);
  for (const std::size_t bytes : {8, 1000, 65536, 4 << 20}) {
    const auto value = [&](std::size_t i) {
      return static_cast<char>(i * 7 + (i / bytes) * 13 + (i >> 11));
    };
    std::vector<char> all(2 * bytes);
    const std::size_t mine = static_cast<std::size_t>(rank) * bytes;
    for (std::size_t i = mine; i < mine + bytes; ++i) all[i] = value(i);
    expect(nccl.bootstrap_all_gather(bootstrap, all.data(), static_cast<int>(bytes)) == 0,
           "bootstrapAllGather");
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) wrong += all[i] != value(i);
    expect(wrong == 0, std::to_string(wrong) + " bytes are wrong");
  }
  other.meet();
  expect(nccl.bootstrap_close(bootstrap) == 0, "bootstrapClose");
  expect(nccl.net_finalize(communicator.data()) == 0, "ncclNetFinalize");
}

std::string gather_with(const Variables& more) {
  const TemporaryFolder folder;
  const auto process = [&](const char* name, int rank) {
    const std::string log = folder.path(name);
    return heddle::nccl_net::testing::Process{
        name,
        with_plugin(log) + Variables{{"NCCL_NET", "Heddle"}, {"NCCL_OOB_NET_ENABLE", "1"}} + more,
        [=](const Other& other) {
          try {
            gather(other, rank);
          } catch (const std::exception& error) {
            throw std::runtime_error(error.what() + ("\n" + text_of(log)));
          }
          expect_lines(log, {"Assigned NET plugin Heddle to comm", "Bootstrap timings total"});
        }};
  };
  return run_processes(process("rank 0", 0), process("rank 1", 1));
}

}  // namespace

TEST_CASE("NCCL loads and starts the plugin") {
  if (skipped()) return;
  const TemporaryFolder folder;
  const std::string log = folder.path("log");
  CHECK(run_process(
            {"process", with_plugin(log) + Variables{{"NCCL_NET", "Heddle"}}, [&](const Other&) {
               expect(init_result() == 0, text_of(log));
               expect_lines(
                   log, {"NET/Plugin: Loaded net plugin Heddle (v1", "NET/OFI Initializing Heddle",
                         "NET/OFI Selected Provider", "Initialized NET plugin Heddle",
                         "Assigned NET plugin Heddle to comm"});
             }}) == "");
}

TEST_CASE("NCCL goes on with its sockets when the plugin cannot start, and the log says it") {
  if (skipped()) return;
  const TemporaryFolder folder;
  const std::string log = folder.path("log"), fatal = folder.path("fatal");
  const Variables no_provider{{"HEDDLE_PROVIDER", "no-such"}};
  CHECK(run_process({"process", with_plugin(log) + no_provider, [&](const Other&) {
                       expect(init_result() == 0, text_of(log));
                       expect_lines(log, {"NCCL WARN NET/OFI", "NCCL_NET=Heddle",
                                          "Failed to initialize NET plugin Heddle",
                                          "Assigned NET plugin Socket to comm"});
                     }}) == "");
  CHECK(
      run_process({"process", with_plugin(fatal) + no_provider + Variables{{"NCCL_NET", "Heddle"}},
                   [&](const Other&) {
                     expect(init_result() == kInvalidUsage, text_of(fatal));
                     expect_lines(fatal, {"NCCL WARN NET/OFI", "Failed to initialize any NET"});
                   }}) == "");
}

TEST_CASE("NCCL's bootstrap gathers over the plugin") {
  if (skipped(true)) return;
  CHECK(gather_with({}) == "");
  for (const char* adapters : {"1", "4"})
    CHECK(gather_with({{"HEDDLE_PROVIDER", "efa"}, {"HEDDLE_EMULATED_EFA", adapters}}) == "");
  CHECK(gather_with({{"HEDDLE_PROVIDER", "efa"}, {"HEDDLE_EMULATED_EFA_HMEM", "cuda"}}) == "");
}
