// The clock of fakes/clock.cc where it is preloaded; else nothing happens here.
#pragma once

#include <dlfcn.h>

#include <cstdint>

namespace headrace::testing {

/// True: it was set forward, and nobody needs to wait.
inline bool pass_until(std::uint64_t until_ns) {
  static const auto pass = reinterpret_cast<void (*)(std::uint64_t)>(::dlsym(RTLD_DEFAULT, "fake_clock_pass"));
  if (pass != nullptr) pass(until_ns);
  return pass != nullptr;
}
/// What lasts as long as this object takes no time.
class NoTime {
 public:
  NoTime() { work(1); }
  ~NoTime() { work(-1); }
  NoTime(const NoTime&) = delete;

 private:
  static void work(int more) {
    static const auto function = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "fake_clock_work"));
    if (function != nullptr) function(more);
  }
};

}  // namespace headrace::testing
