/* The C API from C99, in a project that knows no other language. */
#include <heddle/heddle.h>
#include <stdio.h>

int main(void) {
  heddleComm_t comm;
  double value = 3;
  int ranks = 0;
  if (heddleCommInitFromEnvironment(&comm, NULL) != heddleSuccess ||
      heddleCommCount(comm, &ranks) != heddleSuccess ||
      heddleAllReduce(&value, &value, 1, heddleFloat64, heddleSum, comm, NULL) != heddleSuccess ||
      heddleCommDestroy(comm) != heddleSuccess) {
    fprintf(stderr, "%s\n", heddleGetLastError(NULL));
    return 1;
  }
  printf("%d ranks: %g\n", ranks, value);
  return 0;
}
