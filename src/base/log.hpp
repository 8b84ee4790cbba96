// Log lines, one write each: "host:pid HEDDLE INFO text". The level is the process's.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace heddle::base {

enum class LogLevel { none, error, warn, info, debug, trace };

// Sets the level and where lines go: "" is standard error; %h and %p in a file's name stand for
// host and process. An unwritable file fails with heddleInvalidArgument.
void configure_log(LogLevel level, const std::string& file);
LogLevel log_level();

// Takes lines in place of standard error: the log of a program that the library works in. It is
// called by any thread and must neither log nor throw. What HEDDLE_LOG_FILE takes it gets as well.
// Null: standard error again.
using LogSink = void (*)(LogLevel level, std::string_view text);
void set_log_sink(LogSink sink);

void write_log(LogLevel level, std::string_view text);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level <= log_level()) write_log(level, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::error, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warn, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::debug, format, std::forward<Args>(args)...);
}

}  // namespace heddle::base
