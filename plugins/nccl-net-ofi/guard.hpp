// The border to NCCL: no exception passes it, and each failure is logged.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "nccl-net-ofi/abi/common.hpp"
#include "nccl-net-ofi/logging.hpp"
#include "nccl-net-ofi/session.hpp"

namespace heddle::nccl_net {

// What NCCL is told for one of our codes.
inline nccl_abi::Result result_of(heddleResult_t code) {
  switch (code) {
    case heddleSuccess: return nccl_abi::Result::success;
    case heddleUnhandledDeviceError: return nccl_abi::Result::unhandled_cuda_error;
    case heddleSystemError: return nccl_abi::Result::system_error;
    case heddleInvalidUsage: return nccl_abi::Result::invalid_usage;
    // A peer that has not moved for so long is lost for all that anybody can tell.
    case heddleRemoteError:
    case heddleTimeout: return nccl_abi::Result::remote_error;
    // NCCL keeps "invalid argument" for what its own callers give it.
    default: return nccl_abi::Result::internal_error;
  }
}

// Runs `call`, which returns nothing; what it throws becomes a result and, by `report(text)`, a
// line.
template <typename Report, typename Call>
nccl_abi::Result guarded_with(Report&& report, Call&& call) noexcept {
  try {
    try {
      refuse_forked();
      call();
      return nccl_abi::Result::success;
    } catch (const base::Error& error) {
      report(std::string_view(error.what()));
      return result_of(error.code());
    } catch (const std::bad_alloc&) {
      report(std::string_view("out of memory"));
      return nccl_abi::Result::system_error;
    } catch (const std::exception& error) {
      report(std::string_view(error.what()));
      return nccl_abi::Result::internal_error;
    }
  } catch (...) {  // also a report that failed
    return nccl_abi::Result::internal_error;
  }
}

template <typename Call>
nccl_abi::Result guarded(std::string_view name, Call&& call) noexcept {
  return guarded_with([&](std::string_view why) { report_failure(name, why); },
                      std::forward<Call>(call));
}

}  // namespace heddle::nccl_net
