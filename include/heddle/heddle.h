/* Heddle: collective communication over libfabric. The C API, in NCCL's shape.
 *
 * Every function returns heddleSuccess (0) or an error; heddleGetLastError() holds a sentence that
 * names what was wrong, its value and what is allowed. Sizes are in elements unless the name says
 * bytes.
 *
 * Errors: a NULL pointer is heddleInvalidArgument unless the comment allows it. In a process that
 * was forked after Heddle was used, everything but heddleMemAlloc, heddleMemFree and what needs no
 * communicator is heddleInvalidUsage. What else a function returns stands with it.
 *
 * Threads: any thread may call any function, also several at once on one communicator. Operations
 * on one communicator run in the order of the calls, which must be the same on every rank: threads
 * that share one must order their calls. A handle (communicator, work, op, registration) ends once,
 * when no other thread is in a call with it; heddleCommAbort alone may be called while others wait
 * in operations.
 */
#ifndef HEDDLE_HEDDLE_H_
#define HEDDLE_HEDDLE_H_

#include <stddef.h>

#include "heddle/version.h"

#if defined(HEDDLE_BUILDING)
#define HEDDLE_API __attribute__((visibility("default")))
#else
#define HEDDLE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* In C++ the enumerations hold any int, so that a bad value can be told from a good one. */
#ifdef __cplusplus
#define HEDDLE_INT : int
#else
#define HEDDLE_INT
#endif

/* A communicator: this process's membership, as one rank, in a group of ranks. */
typedef struct heddleComm* heddleComm_t;
/* An operation under way, started by one of the ...Async calls. */
typedef struct heddleWork* heddleWork_t;
/* A device stream that orders operations on device buffers; NULL for host buffers. */
typedef void* heddleStream_t;

/* Values 0 to 7 mean what they mean in NCCL. */
typedef enum HEDDLE_INT {
  heddleSuccess = 0,
  heddleUnhandledDeviceError = 1, /* the CUDA or Neuron runtime failed */
  heddleSystemError = 2,          /* the operating system or libfabric failed */
  heddleInternalError = 3,        /* a fault of this library */
  heddleInvalidArgument = 4,      /* a bad argument or setting */
  heddleInvalidUsage = 5,         /* a call out of order, or unlike other ranks' (HEDDLE_CHECK) */
  heddleRemoteError = 6,          /* another rank died, left or disagreed */
  heddleInProgress = 7,           /* not finished yet */
  heddleTimeout = 8,              /* no progress within the time allowed */
  heddleAborted = 9               /* ended by heddleCommAbort */
} heddleResult_t;

/* Element types; float16 is IEEE binary16, bfloat16 the upper half of a binary32. The two of 8 bits
 * are those of the OCP 8-bit floating point specification: e4m3 has no infinities (NaN is 0x7f and
 * 0xff) and ends at 448, e5m2 is the upper half of a binary16 and ends at 57344. A reduction
 * computes them in float32 and rounds each result to nearest even; what is larger than the largest
 * finite value, infinity included, becomes that value with its sign, and a NaN stays a NaN. Data
 * that is only moved keeps its bits, infinities too. */
typedef enum HEDDLE_INT {
  heddleInt8 = 0,
  heddleUint8 = 1,
  heddleInt32 = 2,
  heddleUint32 = 3,
  heddleInt64 = 4,
  heddleUint64 = 5,
  heddleFloat16 = 6,
  heddleFloat32 = 7,
  heddleFloat64 = 8,
  heddleBfloat16 = 9,
  heddleFloat8e4m3 = 10,
  heddleFloat8e5m2 = 11,
  heddleNumTypes = 12
} heddleDataType_t;

/* Reductions. Integer sums and products wrap; avg is the sum divided by the number of ranks,
 * rounded toward zero for integers. A NaN operand of min or max may be ignored or kept, but all
 * ranks get the same bits. */
typedef enum HEDDLE_INT {
  heddleSum = 0,
  heddleProd = 1,
  heddleMax = 2,
  heddleMin = 3,
  heddleAvg = 4,
  heddleNumOps = 5
} heddleRedOp_t;

/* What the ranks of one communicator share to find each other: a zero-terminated string with the
 * root's addresses and a random secret. Made once, passed to every rank by the program. */
#define HEDDLE_UNIQUE_ID_BYTES 256
typedef struct {
  char internal[HEDDLE_UNIQUE_ID_BYTES];
} heddleUniqueId;

/* Options of one communicator; start from HEDDLE_CONFIG_INITIALIZER. */
typedef struct {
  size_t size; /* sizeof(heddleConfig_t) of the caller */
  /* HEDDLE_VERSION_CODE of the caller: from 100 (0.1.0) to that of the library, patches aside */
  unsigned int version;
  /* NULL, or "NAME=value NAME=value": settings of docs/settings.md that, for this communicator,
   * win over the environment, for instance "HEDDLE_ALGO=ring HEDDLE_TIMEOUT=30". */
  const char* settings;
} heddleConfig_t;
#define HEDDLE_CONFIG_INITIALIZER \
  { sizeof(heddleConfig_t), HEDDLE_VERSION_CODE, NULL }

/* The version of the loaded library, as HEDDLE_VERSION_CODE. */
HEDDLE_API heddleResult_t heddleGetVersion(int* version);
/* A short name of a result, never NULL. */
HEDDLE_API const char* heddleGetErrorString(heddleResult_t result);
/* The sentence to what heddleCommGetAsyncError says of `comm`, or of this thread's last failure if
 * comm is NULL or works. Never NULL; valid until this thread's next call, whatever others do. */
HEDDLE_API const char* heddleGetLastError(heddleComm_t comm);

/* Makes a unique id. The calling process becomes the root: it answers the other ranks, and must
 * live until all of them have left. heddleInvalidArgument for a bad setting in the environment,
 * heddleSystemError without a network interface, port or thread. */
HEDDLE_API heddleResult_t heddleGetUniqueId(heddleUniqueId* id);

/* Joins rank `rank` of `nranks` to the communicator that `id` names. Blocks until all ranks have
 * joined or HEDDLE_INIT_TIMEOUT has passed. `*comm` is NULL after a failure:
 *   heddleInvalidArgument  nranks, rank, the id, the config, a setting, a provider that is not
 *                          there; ranks that differ in nranks or settings, or are the same
 *   heddleInvalidUsage     a rank that comes when all are there
 *   heddleTimeout          ranks are missing after HEDDLE_INIT_TIMEOUT: they are named
 *   heddleRemoteError      the root cannot be reached or does not know the id, or a rank gave up
 *   heddleSystemError      memory, descriptors, threads or the adapters */
HEDDLE_API heddleResult_t heddleCommInitRank(heddleComm_t* comm, int nranks, heddleUniqueId id,
                                             int rank);
/* The same with options; `config` may be NULL. */
HEDDLE_API heddleResult_t heddleCommInitRankConfig(heddleComm_t* comm, int nranks,
                                                   heddleUniqueId id, int rank,
                                                   const heddleConfig_t* config);
/* Joins the world that the launcher describes in the environment: torchrun's, Open MPI's, hydra's
 * or Slurm's variables, or a world of one when there are none. docs/bootstrap.md lists them. Errors
 * are those of heddleCommInitRank; variables that are malformed are heddleInvalidArgument, and
 * those that do not say where ranks on several hosts meet heddleInvalidUsage. */
HEDDLE_API heddleResult_t heddleCommInitFromEnvironment(heddleComm_t* comm,
                                                        const heddleConfig_t* config);

/* Waits for all operations of this rank. The communicator takes no new ones afterwards: they are
 * heddleInvalidUsage. Returns the error that ended the communicator, if one has; the second time,
 * heddleSuccess. */
HEDDLE_API heddleResult_t heddleCommFinalize(heddleComm_t comm);
/* Finalizes if that has not been done, leaves (waits until all ranks do, for HEDDLE_TIMEOUT at
 * most) and frees. `comm` is invalid afterwards, also when this returns what heddleCommFinalize
 * would. */
HEDDLE_API heddleResult_t heddleCommDestroy(heddleComm_t comm);
/* Ends all operations with heddleAborted, tells the other ranks and frees; returns within 2 s. May
 * be called while another thread waits in an operation; that thread gets heddleAborted. `comm`,
 * what was registered with it and its ops are invalid afterwards; works are not, and must be freed.
 */
HEDDLE_API heddleResult_t heddleCommAbort(heddleComm_t comm);
/* The state of the communicator: heddleSuccess, or the error that ended it. Never blocks. */
HEDDLE_API heddleResult_t heddleCommGetAsyncError(heddleComm_t comm, heddleResult_t* error);

/* The number of ranks. */
HEDDLE_API heddleResult_t heddleCommCount(heddleComm_t comm, int* count);
/* This process's rank, from 0. */
HEDDLE_API heddleResult_t heddleCommUserRank(heddleComm_t comm, int* rank);
/* What carries this communicator's data, in one line for people: shared memory, or the provider and
 * its rails. `text` is valid as long as the communicator. */
HEDDLE_API heddleResult_t heddleCommGetNetwork(heddleComm_t comm, const char** text);

/* Tells the communicator of a buffer that operations will use often. The buffer must stay mapped
 * until heddleCommDeregister. Where adapters must know memory before they send from it (efa), it is
 * registered with them once instead of for each message; elsewhere nothing is gained.
 * heddleInvalidArgument for 0 bytes or an end past the address space, heddleSystemError when an
 * adapter refuses. */
HEDDLE_API heddleResult_t heddleCommRegister(heddleComm_t comm, void* buffer, size_t bytes,
                                             void** handle);
/* heddleInvalidArgument for a handle that is not one of this communicator's, or no longer.
 * Destroying or aborting the communicator does the same to all that are left. */
HEDDLE_API heddleResult_t heddleCommDeregister(heddleComm_t comm, void* handle);
/* Host memory that suits operations best: page aligned, huge pages where the system has them,
 * already touched, zero. Free with heddleMemFree. heddleInvalidArgument for 0 bytes,
 * heddleSystemError when there is not so much memory. */
HEDDLE_API heddleResult_t heddleMemAlloc(void** pointer, size_t bytes);
/* NULL is allowed. heddleInvalidArgument for what heddleMemAlloc did not give, or was freed. */
HEDDLE_API heddleResult_t heddleMemFree(void* pointer);

/* Where the scalar of a pre-scaled sum lies. */
typedef enum HEDDLE_INT {
  heddleScalarDevice = 0,       /* refused: no build reads device memory yet */
  heddleScalarHostImmediate = 1 /* host memory, read before the call returns */
} heddleScalarResidence_t;
/* Makes a sum, for operations of `type` on `comm`, to which each rank's input is multiplied by that
 * rank's `scalar` (one element of the type) first. A 16- or 8-bit float is multiplied in binary32
 * without rounding; integers wrap. The op is of this communicator alone. heddleInvalidArgument for
 * an unknown type, or a residence other than heddleScalarHostImmediate. */
HEDDLE_API heddleResult_t heddleRedOpCreatePreMulSum(heddleRedOp_t* op, const void* scalar,
                                                     heddleDataType_t type,
                                                     heddleScalarResidence_t residence,
                                                     heddleComm_t comm);
/* Operations under way keep theirs. heddleInvalidArgument for an op that is not one of this
 * communicator's, or no longer. */
HEDDLE_API heddleResult_t heddleRedOpDestroy(heddleRedOp_t op, heddleComm_t comm);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "heddle/operations.h"

#endif /* HEDDLE_HEDDLE_H_ */
