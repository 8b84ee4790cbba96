// The C API: arguments checked, exceptions turned into results and sentences.
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "communicator/arguments.hpp"
#include "communicator/communicator.hpp"
#include "communicator/entrance.hpp"
#include "communicator/registry.hpp"
#include "device/host_memory.hpp"

using heddle::base::Collective;
using heddle::base::fail;
using heddle::communicator::Call;
using heddle::communicator::Communicator;
using heddle::communicator::Operation;

struct heddleComm {
  std::shared_ptr<Communicator> communicator;
  heddle::communicator::Registrations registrations;
  std::string last_error;  // what heddleGetLastError(comm) hands out
};

struct heddleWork {
  std::shared_ptr<Communicator> communicator;
  std::shared_ptr<Operation> operation;
};

namespace {

thread_local std::string thread_error;

// Runs `body`; whatever it throws becomes a result and this thread's last error.
template <typename Body>
heddleResult_t guarded(Body&& body) {
  try {
    body();
    return heddleSuccess;
  } catch (const heddle::base::Error& error) {
    thread_error = error.what();
    return error.code();
  } catch (const std::bad_alloc&) {
    thread_error = "out of memory";
    return heddleSystemError;
  } catch (const std::exception& error) {
    thread_error = error.what();
    return heddleInternalError;
  }
}

template <typename Pointer>
Pointer& required(Pointer* pointer, const char* name) {
  if (pointer == nullptr) fail(heddleInvalidArgument, "{} is NULL", name);
  return *pointer;
}

void refuse_forked_child() {
  if (heddle::communicator::forked_after_use())
    fail(heddleInvalidUsage,
         "this process was forked from one that had used Heddle; fork before the first call, or "
         "exec");
}

// A share of its own, so that an abort in another thread does not free what this call uses.
std::shared_ptr<Communicator> usable(heddleComm_t comm) {
  heddleComm& handle = required(comm, "comm");
  refuse_forked_child();
  return handle.communicator;
}

void join(heddleComm_t* comm, const heddleConfig_t* config,
          const std::function<std::shared_ptr<Communicator>(const heddle::base::Settings&)>& how) {
  required(comm, "comm");
  *comm = nullptr;
  refuse_forked_child();
  std::string_view overrides;
  if (config != nullptr) {
    if (config->size != sizeof(heddleConfig_t))
      fail(heddleInvalidArgument,
           "config.size is {}: allowed is {}; start from HEDDLE_CONFIG_INITIALIZER", config->size,
           sizeof(heddleConfig_t));
    if (config->settings != nullptr) overrides = config->settings;
  }
  const auto settings = heddle::communicator::read_settings(overrides);
  auto handle = std::make_unique<heddleComm>();
  handle->communicator = how(settings);
  *comm = handle.release();
}

Call check(Collective collective, const void* send, void* receive, size_t count,
           heddleDataType_t type, heddleRedOp_t op, const Communicator& communicator,
           heddleStream_t stream) {
  return heddle::communicator::checked_call(collective, send, receive, count, type, op, stream,
                                            communicator.rank(), communicator.ranks());
}

heddleResult_t run(Collective collective, const void* send, void* receive, size_t count,
                   heddleDataType_t type, heddleRedOp_t op, heddleComm_t comm,
                   heddleStream_t stream) {
  return guarded([&] {
    const auto communicator = usable(comm);
    communicator->run(check(collective, send, receive, count, type, op, *communicator, stream));
  });
}

heddleResult_t start(Collective collective, const void* send, void* receive, size_t count,
                     heddleDataType_t type, heddleRedOp_t op, heddleComm_t comm,
                     heddleStream_t stream, heddleWork_t* work) {
  return guarded([&] {
    const auto communicator = usable(comm);
    required(work, "work");
    *work = nullptr;
    const Call call = check(collective, send, receive, count, type, op, *communicator, stream);
    auto handle = std::make_unique<heddleWork>();
    handle->communicator = communicator;
    handle->operation = communicator->start(call);
    *work = handle.release();
  });
}

heddleResult_t result_of(const Operation& operation) {
  const heddleResult_t result = operation.result();
  if (result != heddleSuccess && result != heddleInProgress) thread_error = operation.error();
  return result;
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
  if (comm != nullptr && comm->communicator->state() != heddleSuccess) {
    comm->last_error = comm->communicator->failure_text();
    return comm->last_error.c_str();
  }
  return thread_error.c_str();
}

HEDDLE_API heddleResult_t heddleGetUniqueId(heddleUniqueId* id) {
  return guarded([&] {
    required(id, "id") =
        heddle::communicator::make_unique_id(heddle::communicator::read_settings(""));
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
    usable(comm);
    required(handle, "handle") = nullptr;
    *handle = comm->registrations.add(buffer, bytes);
  });
}

HEDDLE_API heddleResult_t heddleCommDeregister(heddleComm_t comm, void* handle) {
  return guarded([&] {
    usable(comm);
    comm->registrations.remove(handle);
  });
}

HEDDLE_API heddleResult_t heddleMemAlloc(void** pointer, size_t bytes) {
  return guarded(
      [&] { required(pointer, "pointer") = heddle::communicator::allocate_memory(bytes); });
}

HEDDLE_API heddleResult_t heddleMemFree(void* pointer) {
  return guarded([&] { heddle::communicator::free_memory(pointer); });
}

HEDDLE_API heddleResult_t heddleAllReduce(const void* send, void* receive, size_t count,
                                          heddleDataType_t type, heddleRedOp_t op,
                                          heddleComm_t comm, heddleStream_t stream) {
  return run(Collective::all_reduce, send, receive, count, type, op, comm, stream);
}

HEDDLE_API heddleResult_t heddleAllReduceAsync(const void* send, void* receive, size_t count,
                                               heddleDataType_t type, heddleRedOp_t op,
                                               heddleComm_t comm, heddleStream_t stream,
                                               heddleWork_t* work) {
  return start(Collective::all_reduce, send, receive, count, type, op, comm, stream, work);
}

HEDDLE_API heddleResult_t heddleAllGather(const void* send, void* receive, size_t count,
                                          heddleDataType_t type, heddleComm_t comm,
                                          heddleStream_t stream) {
  return run(Collective::all_gather, send, receive, count, type, heddleSum, comm, stream);
}

HEDDLE_API heddleResult_t heddleAllGatherAsync(const void* send, void* receive, size_t count,
                                               heddleDataType_t type, heddleComm_t comm,
                                               heddleStream_t stream, heddleWork_t* work) {
  return start(Collective::all_gather, send, receive, count, type, heddleSum, comm, stream, work);
}

HEDDLE_API heddleResult_t heddleReduceScatter(const void* send, void* receive, size_t count,
                                              heddleDataType_t type, heddleRedOp_t op,
                                              heddleComm_t comm, heddleStream_t stream) {
  return run(Collective::reduce_scatter, send, receive, count, type, op, comm, stream);
}

HEDDLE_API heddleResult_t heddleReduceScatterAsync(const void* send, void* receive, size_t count,
                                                   heddleDataType_t type, heddleRedOp_t op,
                                                   heddleComm_t comm, heddleStream_t stream,
                                                   heddleWork_t* work) {
  return start(Collective::reduce_scatter, send, receive, count, type, op, comm, stream, work);
}

HEDDLE_API heddleResult_t heddleWorkWait(heddleWork_t work, long timeout_ms) {
  heddleResult_t result = heddleInProgress;
  const heddleResult_t guard = guarded([&] {
    refuse_forked_child();
    const heddleWork& handle = required(work, "work");
    const auto time = heddle::base::Seconds(static_cast<double>(timeout_ms) / 1000);
    handle.communicator->wait(*handle.operation, time);
    result = result_of(*handle.operation);
  });
  return guard != heddleSuccess ? guard : result;
}

HEDDLE_API heddleResult_t heddleWorkTest(heddleWork_t work) {
  heddleResult_t result = heddleInProgress;
  const heddleResult_t guard = guarded([&] {
    refuse_forked_child();
    const heddleWork& handle = required(work, "work");
    if (!handle.operation->finished()) handle.communicator->take_turn();
    result = result_of(*handle.operation);
  });
  return guard != heddleSuccess ? guard : result;
}

HEDDLE_API heddleResult_t heddleWorkFree(heddleWork_t work) {
  return guarded([&] {
    refuse_forked_child();
    required(work, "work");
    delete work;
  });
}

}  // extern "C"
