// Loads a net plugin as NCCL does and says what it got. usage: NAME ROUNDS VERSION...
// NAME is a value of NCCL_NET_PLUGIN, "" when it is not set; VERSIONs are those that an NCCL looks
// for, newest first. Links nothing of ours.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "nccl-net-ofi/abi/net_v11.hpp"

namespace {

using heddle::nccl_abi::Result;

void* open_as_nccl(const std::string& name) {
  const std::string first = name.empty() ? "libnccl-net.so" : name;
  void* library = dlopen(first.c_str(), RTLD_NOW | RTLD_LOCAL);
  const bool is_file =
      first.find('/') != std::string::npos || (first.starts_with("lib") && first.ends_with(".so"));
  if (library == nullptr && !is_file)
    library = dlopen(("libnccl-net-" + first + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::printf("not found: %s\n", dlerror());
  return library;
}

void print_line(heddle::nccl_abi::LogLevel, unsigned long, const char*, int, const char*, ...) {}

// Only of the version whose communicators end.
bool run(heddle::nccl_abi::NetV11& net) {
  void* context = nullptr;
  int count = 0;
  return net.init(&context, 1, nullptr, print_line, nullptr) == Result::success &&
         net.devices(&count) == Result::success && count > 0 &&
         net.finalize(context) == Result::success && net.finalize(nullptr) == Result::success;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  for (int round = 0; round < std::atoi(arguments[2]); ++round) {
    void* const library = open_as_nccl(arguments[1]);
    if (library == nullptr) return 1;
    for (int i = 3; i < count; ++i) {
      const std::string symbol = std::string("ncclNetPlugin_v") + arguments[i];
      void* const table = dlsym(library, symbol.c_str());
      if (table == nullptr) continue;
      // A table starts with its name, whatever its version.
      const char* const name = *static_cast<const char* const*>(table);
      Dl_info where{};
      dladdr(table, &where);
      std::printf("v%s %s %s\n", arguments[i], name, where.dli_fname);
      if (std::strcmp(arguments[i], "11") == 0 &&
          !run(*static_cast<heddle::nccl_abi::NetV11*>(table)))
        return 3;
      break;
    }
    if (dlsym(library, "ncclCollNetPlugin_v11") != nullptr) std::puts("shows too much");
    dlclose(library);
  }
  return 0;
}
