// Ranks as a launcher starts them: processes that know each other from their environment alone.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

using Variables = std::map<std::string, std::string>;
using VariablesOf = std::function<Variables(int rank, int ranks)>;

// A launcher around this test is not the one that it plays.
void forget_launchers() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    for (const char* prefix : {"RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "TORCHELASTIC_", "OMPI_",
                               "PMIX_", "PMI_", "MPI_", "SLURM_", "HEDDLE_"})
      if (name.starts_with(prefix)) names.push_back(name);
  }
  for (const auto& name : names) unsetenv(name.c_str());
}

void use(const Variables& variables) {
  forget_launchers();
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  setenv("HEDDLE_INIT_TIMEOUT", "20", 1);
}

bool is_free(int port) {
  const base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// A port that is free, and so are the next two. Below those that the kernel gives to connections:
// another program could have them by the time that rank 0 listens.
int free_port() {
  constexpr int kFirst = 10'000;
  constexpr int kPorts = 20'000;
  for (int i = 0; i < 100; ++i) {
    const int port = kFirst + (static_cast<int>(getpid()) * 7 + i * 101) % kPorts;
    if (is_free(port) && is_free(port + 1) && is_free(port + 2)) return port;
  }
  throw std::runtime_error("this host has no free ports");
}

// Forks the ranks, each of which makes two communicators one after the other and checks an
// all-reduce of each.
void check_world(int ranks, const VariablesOf& variables_of) {
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank)
    children.emplace_back([&, rank] {
      use(variables_of(rank, ranks));
      for (int world = 0; world < 2; ++world) {
        auto communicator = Communicator::from_environment();
        expect(communicator.rank() == rank, "it has another rank");
        expect(communicator.size() == ranks, "it has another size");
        check_operation(communicator,
                        {base::Collective::all_reduce, heddleInt32, heddleSum, ranks, 10'007},
                        false);
      }
    });
  for (int rank = 0; rank < ranks; ++rank) {
    INFO("rank " << rank << " of " << ranks);
    CHECK(children[static_cast<std::size_t>(rank)].wait(base::Seconds(40)).value_or(-1) == 0);
  }
}

// How the launchers tell ranks that all share this host. `job` is unlike that of any other test.
Variables open_mpi(const std::string& job, int rank, int ranks) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", std::to_string(ranks)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(ranks)},
          {"PMIX_NAMESPACE", job}};
}

Variables hydra(int rank, int ranks) {
  return {{"PMI_RANK", std::to_string(rank)},
          {"PMI_SIZE", std::to_string(ranks)},
          {"MPI_LOCALNRANKS", std::to_string(ranks)}};
}

Variables torchrun(int port, int rank, int ranks) {
  return {{"RANK", std::to_string(rank)}, {"WORLD_SIZE", std::to_string(ranks)},
          {"LOCAL_WORLD_SIZE", "1"},      {"TORCHELASTIC_RUN_ID", "none"},
          {"MASTER_ADDR", "127.0.0.1"},   {"MASTER_PORT", std::to_string(port)},
          {"HEDDLE_SECRET", "sesame"}};
}

// What a world that this process claims to belong to ends with.
std::string error_of(const Variables& variables) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  Child child([&] {
    use(variables);
    std::string text = "joined";
    try {
      Communicator::from_environment();
    } catch (const Error& error) {
      text = std::to_string(error.code()) + " " + error.what();
    }
    expect(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
  });
  CHECK(child.wait(base::Seconds(10)).value_or(-1) == 0);
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = read(ends[0], text.data(), text.size());
  close(ends[0]);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

TEST_CASE("ranks that Open MPI starts on one host meet") {
  for (const int ranks : {2, 3, 4}) {
    const std::string job = "test-" + std::to_string(getpid()) + "-" + std::to_string(ranks);
    check_world(ranks, [&](int rank, int size) { return open_mpi(job, rank, size); });
  }
}

TEST_CASE("ranks that hydra starts on one host meet") { check_world(3, hydra); }

TEST_CASE("ranks that torchrun starts meet beside its own port") {
  const int port = free_port();
  check_world(2, [&](int rank, int ranks) { return torchrun(port, rank, ranks); });
}

TEST_CASE("ranks that know nothing but HEDDLE_ROOT meet there") {
  const int port = free_port();
  check_world(4, [&](int rank, int ranks) {
    Variables variables = hydra(rank, ranks);
    variables["MPI_LOCALNRANKS"] = "1";
    variables["HEDDLE_ROOT"] = "127.0.0.1:" + std::to_string(port);
    return variables;
  });
}

TEST_CASE("launcher-mismatch: a process that its launcher gave no rank") {
  for (const std::string size : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
    CHECK_THAT(
        error_of({{size, "4"}}),
        Catch::Matchers::StartsWith(std::to_string(heddleInvalidUsage) + " ") &&
            Catch::Matchers::Contains("launcher says 4 (" + size + "=4), this process sees 1"));
}

TEST_CASE("several hosts without a place to meet are told what to set") {
  Variables variables = hydra(0, 4);
  variables["MPI_LOCALNRANKS"] = "2";
  CHECK_THAT(error_of(variables), Catch::Matchers::Contains("HEDDLE_ROOT=host:port"));
}

}  // namespace heddle::test
