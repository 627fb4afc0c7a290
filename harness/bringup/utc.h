// A moment as records tell it.
#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <string>

#include "harness/bringup/agents/facts.h"

namespace headrace::bringup {

/// Now, by this host's clock: "2026-01-31T12:00:00.250Z".
inline std::string utc_now() {
  const double now_s = agents::wall_clock_s(), whole = std::floor(now_s);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03.0f}Z", fmt::gmtime(static_cast<std::time_t>(whole)),
                     std::floor(1000 * (now_s - whole)));
}

}  // namespace headrace::bringup
