/* The C API from C99, in a project that knows no other language: every function of operations.h, by
 * the only rank of a world. */
#include <heddle/heddle.h>
#include <stdio.h>
#include <string.h>

enum { kCount = 3 };

static heddleComm_t comm;
static const double input[kCount] = {3, -1, 0.5};
static double output[kCount];
static int failures = 0;

static void must(heddleResult_t result, const char* what) {
  if (result == heddleSuccess) return;
  fprintf(stderr, "%s: %s\n", what, heddleGetLastError(comm));
  ++failures;
}

/* The operation has put the input into the output, as among one rank all of them do. */
static void check(heddleResult_t result, const char* what) {
  must(result, what);
  if (memcmp(output, input, sizeof input) != 0) {
    fprintf(stderr, "%s: wrong data\n", what);
    ++failures;
  }
  memset(output, 0, sizeof output);
}

static void finish(heddleWork_t work, const char* what) {
  must(heddleWorkWait(work, -1), what);
  must(heddleWorkTest(work), what);
  must(heddleWorkFree(work), what);
}

static void check_work(heddleResult_t result, heddleWork_t work, const char* what) {
  must(result, what);
  if (result == heddleSuccess) finish(work, what);
  check(heddleSuccess, what);
}

/* heddleNAME(input, output, ARGUMENTS, comm, NULL), blocking and with a work. */
#define BOTH(NAME, ...)                                                          \
  do {                                                                           \
    heddleWork_t work = NULL;                                                    \
    heddleResult_t result;                                                       \
    check(heddle##NAME(input, output, __VA_ARGS__, comm, NULL), #NAME);          \
    result = heddle##NAME##Async(input, output, __VA_ARGS__, comm, NULL, &work); \
    check_work(result, work, #NAME "Async");                                     \
  } while (0)

static void one_length(void) {
  BOTH(AllReduce, kCount, heddleFloat64, heddleSum);
  BOTH(AllGather, kCount, heddleFloat64);
  BOTH(ReduceScatter, kCount, heddleFloat64, heddleMax);
  BOTH(Broadcast, kCount, heddleFloat64, 0);
  BOTH(Reduce, kCount, heddleFloat64, heddleProd, 0);
  BOTH(Gather, kCount, heddleFloat64, 0);
  BOTH(Scatter, kCount, heddleFloat64, 0);
  BOTH(AlltoAll, kCount, heddleFloat64);
}

static void lengths_of_their_own(void) {
  const size_t counts[] = {kCount};
  const size_t displacements[] = {0};
  heddleWork_t work = NULL;
  heddleResult_t result;
  BOTH(AllGatherv, counts, displacements, heddleFloat64);
  BOTH(ReduceScatterv, counts, heddleFloat64, heddleMin);
  check(heddleAlltoAllv(input, counts, NULL, output, counts, displacements, heddleFloat64, comm,
                        NULL),
        "AlltoAllv");
  result = heddleAlltoAllvAsync(input, counts, displacements, output, counts, NULL, heddleFloat64,
                                comm, NULL, &work);
  check_work(result, work, "AlltoAllvAsync");
}

static void refused(heddleResult_t result, const char* what) {
  if (result == heddleInvalidUsage && strstr(heddleGetLastError(comm), "itself") != NULL) return;
  fprintf(stderr, "%s: result %d: %s\n", what, (int)result, heddleGetLastError(comm));
  ++failures;
}

static void sends_and_groups(void) {
  heddleWork_t work = NULL;
  heddleResult_t result;
  must(heddleGroupStart(), "GroupStart");
  must(heddleSend(input, kCount, heddleFloat64, 0, comm, NULL), "Send");
  must(heddleRecv(output, kCount, heddleFloat64, 0, comm, NULL), "Recv");
  check(heddleGroupEnd(), "GroupEnd");
  must(heddleGroupStart(), "GroupStart");
  must(heddleRecv(output, kCount, heddleFloat64, 0, comm, NULL), "Recv");
  must(heddleSend(input, kCount, heddleFloat64, 0, comm, NULL), "Send");
  result = heddleGroupEndAsync(&work);
  check_work(result, work, "GroupEndAsync");
  must(heddleBarrier(comm, NULL), "Barrier");
  must(heddleBarrierAsync(comm, NULL, &work), "BarrierAsync");
  finish(work, "BarrierAsync");
  /* Alone, a send to oneself would wait for ever. */
  refused(heddleSendAsync(input, kCount, heddleFloat64, 0, comm, NULL, &work), "SendAsync");
  refused(heddleRecvAsync(output, kCount, heddleFloat64, 0, comm, NULL, &work), "RecvAsync");
}

int main(void) {
  int ranks = 0;
  if (heddleCommInitFromEnvironment(&comm, NULL) != heddleSuccess) {
    fprintf(stderr, "%s\n", heddleGetLastError(NULL));
    return 1;
  }
  must(heddleCommCount(comm, &ranks), "CommCount");
  one_length();
  lengths_of_their_own();
  sends_and_groups();
  must(heddleCommDestroy(comm), "CommDestroy");
  printf("%d ranks: %d failures\n", ranks, failures);
  return failures == 0 ? 0 : 1;
}
