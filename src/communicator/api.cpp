// The C API: arguments checked, exceptions turned into results and sentences.
#include <functional>
#include <memory>
#include <string>

#include "communicator/arguments.hpp"
#include "communicator/entrance.hpp"
#include "communicator/handles.hpp"
#include "device/host_memory.hpp"

using heddle::base::fail;
using heddle::communicator::Communicator;
using heddle::communicator::guarded;
using heddle::communicator::refuse_forked_child;
using heddle::communicator::required;
using heddle::communicator::thread_error;
using heddle::communicator::usable;

namespace {

// 0.1.0, whose heddleConfig_t was the first.
constexpr unsigned kFirstVersion = 100;
// The last of this minor version: what patches change, no program sees.
constexpr unsigned kLastVersion = HEDDLE_VERSION_CODE / 100 * 100 + 99;

void check_config(const heddleConfig_t& config) {
  if (config.size != sizeof(heddleConfig_t))
    fail(heddleInvalidArgument,
         "config.size is {}: allowed is {}; start from HEDDLE_CONFIG_INITIALIZER", config.size,
         sizeof(heddleConfig_t));
  if (config.version < kFirstVersion || config.version > kLastVersion)
    fail(heddleInvalidArgument,
         "config.version is {}: allowed is {} to {} (the library is {}.{}.{}); start from "
         "HEDDLE_CONFIG_INITIALIZER, and load no library older than the program's headers",
         config.version, kFirstVersion, kLastVersion, HEDDLE_MAJOR, HEDDLE_MINOR, HEDDLE_PATCH);
}

void join(heddleComm_t* comm, const heddleConfig_t* config,
          const std::function<std::shared_ptr<Communicator>(const heddle::base::Settings&)>& how) {
  required(comm, "comm");
  *comm = nullptr;
  refuse_forked_child();
  std::string_view overrides;
  if (config != nullptr) {
    check_config(*config);
    if (config->settings != nullptr) overrides = config->settings;
  }
  const auto settings = heddle::communicator::read_settings(overrides);
  auto handle = std::make_unique<heddleComm>();
  handle->communicator = how(settings);
  *comm = handle.release();
}

}  // namespace

extern "C" {

HEDDLE_API heddleResult_t heddleGetVersion(int* version) {
  return guarded([&] { required(version, "version") = HEDDLE_VERSION_CODE; });
}

HEDDLE_API const char* heddleGetErrorString(heddleResult_t result) {
  switch (result) {
    case heddleSuccess: return "no error";
    case heddleUnhandledDeviceError: return "device error";
    case heddleSystemError: return "system error";
    case heddleInternalError: return "internal error";
    case heddleInvalidArgument: return "invalid argument";
    case heddleInvalidUsage: return "invalid usage";
    case heddleRemoteError: return "remote error";
    case heddleInProgress: return "in progress";
    case heddleTimeout: return "timeout";
    case heddleAborted: return "aborted";
  }
  return "unknown result";
}

HEDDLE_API const char* heddleGetLastError(heddleComm_t comm) {
  // The thread's own copy: another thread may ask at the same time.
  thread_local std::string text;
  text = comm != nullptr ? comm->communicator->failure_text_now() : std::string();
  return text.empty() ? thread_error().c_str() : text.c_str();
}

HEDDLE_API heddleResult_t heddleGetUniqueId(heddleUniqueId* id) {
  return guarded([&] {
    heddleUniqueId& made = required(id, "id");
    made = heddle::communicator::make_unique_id(heddle::communicator::read_settings(""));
  });
}

HEDDLE_API heddleResult_t heddleCommInitRank(heddleComm_t* comm, int nranks, heddleUniqueId id,
                                             int rank) {
  return heddleCommInitRankConfig(comm, nranks, id, rank, nullptr);
}

HEDDLE_API heddleResult_t heddleCommInitRankConfig(heddleComm_t* comm, int nranks,
                                                   heddleUniqueId id, int rank,
                                                   const heddleConfig_t* config) {
  return guarded([&] {
    join(comm, config, [&](const heddle::base::Settings& settings) {
      return heddle::communicator::join_by_id(id, rank, nranks, settings);
    });
  });
}

HEDDLE_API heddleResult_t heddleCommInitFromEnvironment(heddleComm_t* comm,
                                                        const heddleConfig_t* config) {
  return guarded([&] { join(comm, config, heddle::communicator::join_by_environment); });
}

HEDDLE_API heddleResult_t heddleCommFinalize(heddleComm_t comm) {
  return guarded([&] { usable(comm)->finalize(); });
}

HEDDLE_API heddleResult_t heddleCommDestroy(heddleComm_t comm) {
  return guarded([&] {
    const auto communicator = usable(comm);
    const std::unique_ptr<heddleComm> handle(comm);
    communicator->finalize();
    communicator->leave();
  });
}

HEDDLE_API heddleResult_t heddleCommAbort(heddleComm_t comm) {
  return guarded([&] {
    const auto communicator = usable(comm);
    communicator->abort();
    delete comm;
  });
}

HEDDLE_API heddleResult_t heddleCommGetAsyncError(heddleComm_t comm, heddleResult_t* error) {
  return guarded([&] { required(error, "error") = usable(comm)->state_now(); });
}

HEDDLE_API heddleResult_t heddleCommCount(heddleComm_t comm, int* count) {
  return guarded([&] { required(count, "count") = usable(comm)->ranks(); });
}

HEDDLE_API heddleResult_t heddleCommUserRank(heddleComm_t comm, int* rank) {
  return guarded([&] { required(rank, "rank") = usable(comm)->rank(); });
}

HEDDLE_API heddleResult_t heddleCommGetNetwork(heddleComm_t comm, const char** text) {
  return guarded([&] { required(text, "text") = usable(comm)->network().c_str(); });
}

HEDDLE_API heddleResult_t heddleCommRegister(heddleComm_t comm, void* buffer, size_t bytes,
                                             void** handle) {
  return guarded([&] {
    const auto communicator = usable(comm);
    required(handle, "handle") = nullptr;
    *handle = comm->registrations.add(buffer, bytes, communicator->fabric());
  });
}

HEDDLE_API heddleResult_t heddleCommDeregister(heddleComm_t comm, void* handle) {
  return guarded([&] {
    usable(comm);
    comm->registrations.remove(handle);
  });
}

HEDDLE_API heddleResult_t heddleMemAlloc(void** pointer, size_t bytes) {
  return guarded([&] {
    void*& memory = required(pointer, "pointer");
    memory = heddle::communicator::allocate_memory(bytes);
  });
}

HEDDLE_API heddleResult_t heddleMemFree(void* pointer) {
  return guarded([&] { heddle::communicator::free_memory(pointer); });
}

HEDDLE_API heddleResult_t heddleRedOpCreatePreMulSum(heddleRedOp_t* op, const void* scalar,
                                                     heddleDataType_t type,
                                                     heddleScalarResidence_t residence,
                                                     heddleComm_t comm) {
  return guarded([&] {
    const auto communicator = usable(comm);
    required(op, "op");
    if (scalar == nullptr) fail(heddleInvalidArgument, "scalar is NULL");
    heddle::communicator::check_type(type);
    if (residence != heddleScalarHostImmediate)
      fail(heddleInvalidArgument,
           "residence is {}: this build reads scalars from host memory only; allowed is 1 "
           "(heddleScalarHostImmediate)",
           static_cast<int>(residence));
    *op = communicator->sums().add(scalar, type);
  });
}

HEDDLE_API heddleResult_t heddleRedOpDestroy(heddleRedOp_t op, heddleComm_t comm) {
  return guarded([&] { usable(comm)->sums().remove(op); });
}

}  // extern "C"
