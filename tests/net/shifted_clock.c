// For LD_PRELOAD: a host whose clock is off by HOST_CLOCK_S seconds, for namespaces have no clock of their own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int code = real(clock, now);
  const char* shift = getenv("HOST_CLOCK_S");
  if (code == 0 && clock == CLOCK_REALTIME && shift) now->tv_sec += atoi(shift);
  return code;
}
