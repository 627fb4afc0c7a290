#include "harness/base/utc.h"

#include <fmt/chrono.h>

#include <cmath>
#include <cstdint>
#include <ctime>

namespace headrace {

double wall_clock_s() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string utc_text(double unix_s) {
  const auto ms = static_cast<std::int64_t>(std::llround(unix_s * 1e3));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

}  // namespace headrace
