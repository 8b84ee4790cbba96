// NCCL's logger as the place where Heddle's lines go. Every line starts with "NET/OFI ", which is
// what people look for. Before there is a logger, and without one, lines go where the library
// writes them: to standard error or to HEDDLE_LOG_FILE.
//
// Thread rule: any thread. Nothing here fails.
#pragma once

#include <string>
#include <string_view>

#include "base/settings.hpp"
#include "nccl-net-ofi/abi/common.hpp"

namespace heddle::nccl_net {

// What NCCL calls this network, for NCCL_NET.
inline constexpr char kName[] = "Heddle";

// From here on lines go to `logger`; null changes nothing.
void adopt_logger(nccl_abi::Logger logger);
void drop_logger();

// How much is written is NCCL's choice (NCCL_DEBUG), which sees all lines up to INFO, unless
// HEDDLE_LOG says otherwise.
void configure_logging(const base::Settings& settings);

// A WARN line "NET/OFI call: why" for a call that failed. A failure that comes again right after
// itself, as from a caller that goes on, is not said again.
void report_failure(std::string_view call, std::string_view why);

// The line for a plugin that cannot start, which NCCL itself does not mention: it goes on with its
// sockets. Where NCCL keeps warnings to itself, standard error gets it too.
void report_no_start(std::string_view why);

// The two decisions of report_no_start, by the values of NCCL_DEBUG and NCCL_NET (null: not set).
bool shows_warnings(const char* nccl_debug);
std::string no_start_line(std::string_view why, const char* nccl_net);

}  // namespace heddle::nccl_net
