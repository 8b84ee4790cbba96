#include "ranks.hpp"

#include <thread>

#include "base/files.hpp"
#include "catch.hpp"
#include "temporary_file.hpp"

namespace heddle::test {

std::vector<std::string> errors_of_ranks(int ranks, const Body& body, const SettingsOf& settings) {
  const UniqueId id = UniqueId::make();
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto& error = errors[static_cast<std::size_t>(rank)];
      try {
        auto communicator = Communicator::from_unique_id(id, ranks, rank, {settings(rank)});
        try {
          body(communicator, rank);
        } catch (const std::exception& thrown) {
          error = thrown.what();
          communicator.abort();
        }
      } catch (const std::exception& thrown) {
        error = thrown.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return errors;
}

std::vector<std::string> errors_of_ranks(int ranks, const Body& body, const std::string& settings) {
  return errors_of_ranks(ranks, body, [&](int) { return settings; });
}

void run_ranks(int ranks, const Body& body, const SettingsOf& settings) {
  const auto errors = errors_of_ranks(ranks, body, settings);
  for (std::size_t rank = 0; rank < errors.size(); ++rank) {
    INFO("rank " << rank << " of " << ranks << ", settings \"" << settings(static_cast<int>(rank))
                 << "\"");
    CHECK(errors[rank] == "");
  }
}

void run_ranks(int ranks, const Body& body, const std::string& settings) {
  run_ranks(ranks, body, [&](int) { return settings; });
}

std::vector<Ended> ends_of_ranks(int ranks, const Body& body, const std::string& settings) {
  std::vector<Ended> ends(static_cast<std::size_t>(ranks));
  run_ranks(
      ranks,
      [&](Communicator& communicator, int rank) {
        Ended& end = ends[static_cast<std::size_t>(rank)];
        try {
          body(communicator, rank);
          end.result = heddleSuccess;
        } catch (const Error& error) {
          end = {error.code(), error.what()};
        }
      },
      settings + " HEDDLE_LOG=none");
  return ends;
}

std::string log_of_ranks(int ranks, const Body& body, const std::string& settings) {
  const TemporaryFile log;
  run_ranks(ranks, body, settings + " HEDDLE_LOG=info HEDDLE_LOG_FILE=" + log.path());
  // The log is the process's: back to standard error.
  run_ranks(
      1, [](Communicator&, int) {}, "HEDDLE_LOG=warn");
  return base::read_file(log.path(), log.path());
}

}  // namespace heddle::test
