#include "nccl_net_check/rank.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace heddle::net_check {
namespace {

std::mutex warning_mutex;
std::string warning;
bool shown = false;

bool wants_all() {
  const char* const wanted = std::getenv("NCCL_DEBUG");
  return wanted != nullptr && (std::string(wanted) == "INFO" || std::string(wanted) == "TRACE");
}

}  // namespace

void log_line(nccl_abi::LogLevel level, unsigned long, const char*, int, const char* format, ...) {
  const bool warns = level == nccl_abi::LogLevel::warn || level == nccl_abi::LogLevel::abort;
  if (!warns && !shown) return;
  std::array<char, 4096> line{};
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  const std::lock_guard lock(warning_mutex);
  if (warns) warning = line.data();
  if (shown && (warns || wants_all()))
    std::fprintf(stderr, "%s %s\n", warns ? "WARN" : "INFO", line.data());
}

void show_log() { shown = true; }

std::string last_warning() {
  const std::lock_guard lock(warning_mutex);
  return warning;
}

void Rank::start() {
  expect(net().init(&context_, log_line), "init");
  int devices = 0;
  expect(net().devices(&devices), "devices");
  if (settings.device >= devices)
    fault("device {} is asked for, the plugin has {}", settings.device, devices);
  expect(net().properties(settings.device, &properties_), "getProperties");
}

void Rank::stop() {
  expect(net().finalize(context_), "finalize");
  context_ = nullptr;
}

void Rank::reload() {
  net_.reset();
  library_.reset();
  library_ = std::make_unique<Library>(settings.plugin);
  net_ = library_->net(settings.api);
}

}  // namespace heddle::net_check
