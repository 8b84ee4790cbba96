#include "device/cuda/driver.hpp"

#include <dlfcn.h>

#include <utility>

#include "base/error.hpp"

namespace heddle::device::cuda {

namespace {

std::string text_of(const Functions& functions, Result result) {
  const char *name = nullptr, *text = nullptr;
  functions.cuGetErrorName(result, &name);
  functions.cuGetErrorString(result, &text);
  return fmt::format("{} ({}, {})", text == nullptr ? "unknown error" : text,
                     name == nullptr ? "no name" : name, result);
}

// Null, and why not, when a function that is needed is absent.
bool find_functions(void* library, const std::string& path, Functions& functions,
                    std::string& why_not) {
  const auto find = [&](auto& function, const char* name, bool needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && needed && why_not.empty())
      why_not = fmt::format("{} has no function {}", path, name);
  };
  find(functions.cuInit, "cuInit", true);
  find(functions.cuGetErrorName, "cuGetErrorName", true);
  find(functions.cuGetErrorString, "cuGetErrorString", true);
  find(functions.cuDriverGetVersion, "cuDriverGetVersion", true);
  find(functions.cuDeviceGetCount, "cuDeviceGetCount", true);
  find(functions.cuDeviceGet, "cuDeviceGet", true);
  find(functions.cuDeviceGetAttribute, "cuDeviceGetAttribute", true);
  find(functions.cuPointerGetAttribute, "cuPointerGetAttribute", true);
  find(functions.cuCtxGetCurrent, "cuCtxGetCurrent", true);
  find(functions.cuCtxSetCurrent, "cuCtxSetCurrent", true);
  find(functions.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", true);
  find(functions.cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease_v2", true);
  find(functions.cuMemGetHandleForAddressRange, "cuMemGetHandleForAddressRange", false);
  find(functions.cuFlushGPUDirectRDMAWrites, "cuFlushGPUDirectRDMAWrites", false);
  return why_not.empty();
}

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace

Driver::Driver(const Functions& functions) : functions_(functions) {
  check(functions_.cuInit(0), "cuInit");
  check(functions_.cuDeviceGetCount(&devices_), "cuDeviceGetCount");
  int version = 0;
  check(functions_.cuDriverGetVersion(&version), "cuDriverGetVersion");
  version_ = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Driver::~Driver() {
  // Of a process that ends, the driver may be gone already; then they are too.
  for (const auto& [device, taken] : contexts_) {
    Device mine = 0;
    if (functions_.cuDeviceGet(&mine, device) == kSuccess)
      functions_.cuDevicePrimaryCtxRelease_v2(mine);
  }
}

void Driver::check(Result result, const char* call) const {
  if (result != kSuccess)
    base::fail(heddleSystemError, "{} failed: {}", call, text_of(functions_, result));
}

Device Driver::handle(int device) const {
  Device result = 0;
  check(functions_.cuDeviceGet(&result, device), "cuDeviceGet");
  return result;
}

int Driver::attribute(DeviceAttribute what, int device) const {
  int value = 0;
  const Result result = functions_.cuDeviceGetAttribute(&value, what, handle(device));
  if (result == kInvalidValue) return 0;
  check(result, "cuDeviceGetAttribute");
  return value;
}

PointerOwner Driver::owner(const void* pointer) const {
  unsigned type = 0;
  const Address address = address_of(pointer);
  const Result result =
      functions_.cuPointerGetAttribute(&type, PointerAttribute::memory_type, address);
  if (result == kInvalidValue) return {};
  check(result, "cuPointerGetAttribute(memory type)");
  // CUDA writes one byte of it.
  alignas(unsigned) unsigned char managed[sizeof(unsigned)] = {};
  check(functions_.cuPointerGetAttribute(managed, PointerAttribute::is_managed, address),
        "cuPointerGetAttribute(is managed)");
  if (managed[0] == 0 && type != kMemoryTypeDevice) return {};
  PointerOwner owner{managed[0] != 0 ? PointerOwner::Kind::managed : PointerOwner::Kind::device, 0};
  check(functions_.cuPointerGetAttribute(&owner.device, PointerAttribute::device_ordinal, address),
        "cuPointerGetAttribute(device ordinal)");
  return owner;
}

base::UniqueFd Driver::dmabuf(const void* begin, std::size_t bytes) const {
  if (!has_dmabuf())
    base::fail(heddleInvalidUsage,
               "CUDA's driver {} has no cuMemGetHandleForAddressRange; 11.7 is the first that has",
               version_);
  int fd = -1;
  check(functions_.cuMemGetHandleForAddressRange(&fd, address_of(begin), bytes, kHandleIsDmabuf, 0),
        "cuMemGetHandleForAddressRange");
  return base::UniqueFd(fd);
}

Context Driver::context(int device) const {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(device);
  if (found != contexts_.end()) return found->second;
  Context context = nullptr;
  check(functions_.cuDevicePrimaryCtxRetain(&context, handle(device)), "cuDevicePrimaryCtxRetain");
  return contexts_[device] = context;
}

void Driver::flush(int device) const {
  if (!has_flush())
    base::fail(heddleInvalidUsage,
               "CUDA's driver {} has no cuFlushGPUDirectRDMAWrites; 11.3 is the first that has",
               version_);
  const Context mine = context(device);
  Context before = nullptr;
  check(functions_.cuCtxGetCurrent(&before), "cuCtxGetCurrent");
  if (before != mine) check(functions_.cuCtxSetCurrent(mine), "cuCtxSetCurrent");
  const Result result = functions_.cuFlushGPUDirectRDMAWrites(kFlushCurrentContext, kFlushToOwner);
  if (before != mine) check(functions_.cuCtxSetCurrent(before), "cuCtxSetCurrent");
  check(result, "cuFlushGPUDirectRDMAWrites");
}

std::shared_ptr<const Driver> open_driver(std::string& why_not, const std::string& path) {
  why_not.clear();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const text = dlerror();
    why_not = fmt::format("no CUDA driver: {}", text == nullptr ? path : text);
    return nullptr;
  }
  Functions functions{};
  if (!find_functions(library, path, functions, why_not)) return nullptr;
  try {
    auto driver = std::make_shared<const Driver>(functions);
    if (driver->devices() > 0) return driver;
    why_not = fmt::format("CUDA's driver {} finds no device", driver->version());
  } catch (const base::Error& error) {
    why_not = fmt::format("CUDA's driver does not start: {}", error.what());
  }
  return nullptr;
}

}  // namespace heddle::device::cuda
