// A clock that GPUs of the tests' own set forward instead of sleeping, and that stops while they do on the host what a GPU
// would do: LD_PRELOADed, a plan of minutes ends sooner. HEADRACE_FAKE_CLOCK names a file that all processes share.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct Clock {
  std::atomic<std::int64_t> ahead;    // of the machine's [ns]
  std::atomic<std::int64_t> stopped;  // at that time; 0 = it runs
  std::atomic<int> busy;
};

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::int64_t machine_ns() {
  static const auto real = next<int(clockid_t, timespec*)>("clock_gettime");
  timespec t;
  real(CLOCK_MONOTONIC, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

Clock& shared() {
  static Clock& one = []() -> Clock& {
    static Clock own{};
    const char* name = std::getenv("HEADRACE_FAKE_CLOCK");
    const int file = name == nullptr ? -1 : ::open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(Clock)) != 0) return own;
    void* place = ::mmap(nullptr, sizeof(Clock), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return place == MAP_FAILED ? own : *static_cast<Clock*>(place);
  }();
  return one;
}

std::int64_t shown_ns() {
  const std::int64_t stopped = shared().stopped;
  return stopped != 0 ? stopped : machine_ns() + shared().ahead;
}

/// The same moment by the machine's clock.
timespec machine_time(const timespec& shown) {
  const std::int64_t ns = std::max<std::int64_t>(0, shown.tv_sec * kSecond + shown.tv_nsec - shown_ns()) + machine_ns();
  return {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
}

}  // namespace

EXPORTED int clock_gettime(clockid_t which, timespec* t) noexcept {
  static const auto real = next<int(clockid_t, timespec*)>("clock_gettime");
  if (which != CLOCK_MONOTONIC) return real(which, t);
  const std::int64_t ns = shown_ns();
  *t = {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
  return 0;
}
EXPORTED int clock_nanosleep(clockid_t which, int flags, const timespec* t, timespec* rest) {
  static const auto real = next<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  if (which != CLOCK_MONOTONIC || flags != TIMER_ABSTIME) return real(which, flags, t, rest);
  const timespec until = machine_time(*t);
  return real(which, flags, &until, rest);
}
EXPORTED int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t which,
                                    const timespec* t) {
  static const auto real =
      next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  const timespec until = which == CLOCK_MONOTONIC ? machine_time(*t) : *t;
  return real(condition, mutex, which, &until);
}

/// Sets it forward to this moment, unless that is past.
EXPORTED void fake_clock_pass(std::uint64_t until_ns) {
  const std::int64_t left = static_cast<std::int64_t>(until_ns) - shown_ns();
  if (left > 0) shared().ahead += left;
}
/// Stops it, by one more that works, or starts it again when the last one has ended.
EXPORTED void fake_clock_work(int more) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Clock& clock = shared();
  if (more > 0 && clock.busy++ == 0) clock.stopped = machine_ns() + clock.ahead;
  if (more < 0 && --clock.busy == 0) {
    clock.ahead = clock.stopped - machine_ns();
    clock.stopped = 0;
  }
}
