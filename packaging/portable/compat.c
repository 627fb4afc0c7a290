// Names of later C libraries that the static C++ library needs.
#include <stdint.h>
#include <sys/random.h>

char __libc_single_threaded = 0;  // 2.32; 0: other threads may run

uint32_t arc4random(void) {  // 2.36
  uint32_t drawn = 0;
  while (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn)) {
  }
  return drawn;
}
