#include "nccl_net_check/net.hpp"

#include <dlfcn.h>

#include "base/error.hpp"
#include "nccl_net_check/caller.hpp"

namespace heddle::net_check {
namespace {

std::string symbol_of(int version) { return fmt::format("ncclNetPlugin_v{}", version); }

template <int kVersion>
std::unique_ptr<Net> caller_of(void* table, int version) {
  if (version == kVersion)
    return std::make_unique<Caller<kVersion>>(*static_cast<typename Abi<kVersion>::Table*>(table));
  if constexpr (kVersion > kOldest) return caller_of<kVersion - 1>(table, version);
  return nullptr;
}

}  // namespace

Library::Library(const std::string& path)
    : path_(path), library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) {
    const char* why = dlerror();
    const bool is_name = path.find('/') == std::string::npos && !path.starts_with("lib");
    base::fail(
        heddleSystemError, "{}{}", why ? why : "dlopen failed",
        is_name ? fmt::format("; NCCL_NET_PLUGIN={} means libnccl-net-{}.so", path, path) : "");
  }
}

Library::~Library() { dlclose(library_); }

std::vector<int> Library::versions() const {
  std::vector<int> found;
  for (int version = kNewest; version >= kOldest; --version)
    if (dlsym(library_, symbol_of(version).c_str())) found.push_back(version);
  return found;
}

std::unique_ptr<Net> Library::net(int version) const {
  if (version == 0) {
    const auto found = versions();
    if (found.empty())
      base::fail(heddleInvalidArgument, "exports none of ncclNetPlugin_v{} to v{}{}", kOldest,
                 kNewest, dlsym(library_, "ncclTunerPlugin_v4") ? "; it is a tuner plugin" : "");
    version = found.front();
  }
  void* table = dlsym(library_, symbol_of(version).c_str());
  if (!table) base::fail(heddleInvalidArgument, "has no {}", symbol_of(version));
  return caller_of<kNewest>(table, version);
}

std::string text_of(Result result) {
  static constexpr std::array kNames = {
      "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
      "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
  const auto number = static_cast<unsigned>(result);
  return fmt::format("{} ({})", number < kNames.size() ? kNames[number] : "result",
                     static_cast<int>(result));
}

}  // namespace heddle::net_check
