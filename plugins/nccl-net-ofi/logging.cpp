#include "nccl-net-ofi/logging.hpp"

#include <strings.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>

namespace heddle::nccl_net {

namespace {

std::atomic<nccl_abi::Logger> nccl_logger{nullptr};

constexpr std::string_view kPrefix = "NET/OFI ";

nccl_abi::LogLevel level_for(base::LogLevel level) {
  // Whoever wants more than INFO asks for it by HEDDLE_LOG. NCCL's TRACE is not built into most
  // libraries.
  return level <= base::LogLevel::warn ? nccl_abi::LogLevel::warn : nccl_abi::LogLevel::info;
}

void to_nccl(base::LogLevel level, std::string_view text) {
  const nccl_abi::Logger logger = nccl_logger.load();
  if (logger == nullptr) return;
  const std::string_view prefix = text.starts_with(kPrefix) ? "" : kPrefix;
  logger(level_for(level), nccl_abi::kLogInit | nccl_abi::kLogNet, "nccl-net-heddle", 0, "%.*s%.*s",
         static_cast<int>(prefix.size()), prefix.data(), static_cast<int>(text.size()),
         text.data());
}

bool was_set(const base::Settings& settings, std::string_view name) {
  const auto table = base::settings_table();
  for (std::size_t i = 0; i < table.size() && i < settings.sources.size(); ++i)
    if (table[i].name == name) return settings.sources[i] != "default";
  return false;
}

}  // namespace

void adopt_logger(nccl_abi::Logger logger) {
  if (logger == nullptr) return;
  nccl_logger = logger;
  base::set_log_sink(to_nccl);
}

void drop_logger() {
  base::set_log_sink(nullptr);
  nccl_logger = nullptr;
}

void configure_logging(const base::Settings& settings) {
  const bool chosen = was_set(settings, "HEDDLE_LOG") || nccl_logger.load() == nullptr;
  base::configure_log(chosen ? settings.log : base::LogLevel::info, settings.log_file);
}

void report_failure(std::string_view call, std::string_view why) {
  static std::mutex* const mutex = new std::mutex;  // never destroyed: used until the process ends
  static std::string* const last = new std::string;
  std::string text = fmt::format("{}{}: {}", kPrefix, call, why);
  {
    const std::lock_guard lock(*mutex);
    if (text == *last) return;
    *last = text;
  }
  base::log_warn("{}", text);
}

bool shows_warnings(const char* nccl_debug) {
  constexpr const char* kThatDo[] = {"WARN", "INFO", "ABORT", "TRACE"};
  return nccl_debug != nullptr &&
         std::any_of(std::begin(kThatDo), std::end(kThatDo),
                     [&](const char* level) { return strcasecmp(level, nccl_debug) == 0; });
}

std::string no_start_line(std::string_view why, const char* nccl_net) {
  const bool fatal = nccl_net != nullptr && strcasecmp(nccl_net, kName) == 0;
  return fmt::format(
      "{}{} cannot start: {}. {}", kPrefix, kName, why,
      fatal ? "NCCL stops, for NCCL_NET names this network"
            : fmt::format("NCCL goes on with its own sockets or InfiniBand and does not say so; "
                          "NCCL_NET={} makes this an error",
                          kName));
}

void report_no_start(std::string_view why) {
  const std::string line = no_start_line(why, std::getenv("NCCL_NET"));
  base::write_log(base::LogLevel::warn, line);
  if (nccl_logger.load() == nullptr || shows_warnings(std::getenv("NCCL_DEBUG"))) return;
  fmt::print(stderr, "{}\n", line);
}

}  // namespace heddle::nccl_net
