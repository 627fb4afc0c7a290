#include "harness/workload/data/ramp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/units.h"

namespace headrace {
namespace {

constexpr double kLowest = 0.1, kHighest = 1e9;  // [1/s]
constexpr double kClose = 1.05;

}  // namespace

Climb climb(double start, const std::function<Rung(double)>& attempt) {
  Climb found;
  const auto holds = [&](double rate) {
    Rung rung = attempt(rate);
    if (!rung.held) rung = attempt(rate);
    found.rungs.push_back(rung);
    return rung.held;
  };
  double held = 0, failed = 0, rate = std::clamp(start, kLowest, kHighest);
  while (held == 0 || failed == 0) {
    if (holds(rate)) {
      held = rate;
      if (rate >= kHighest) break;
      rate = std::min(2 * rate, kHighest);
    } else {
      failed = rate;
      if (rate <= kLowest) break;
      rate = std::max(rate / 2, kLowest);
    }
  }
  while (held != 0 && failed > held * kClose) {
    const double middle = std::sqrt(held * failed);
    (holds(middle) ? held : failed) = middle;
  }
  found.held = held != 0;
  found.rate = found.held ? held : failed;
  return found;
}

std::string to_string(const Climb& climb) {
  std::vector<std::string> reported;
  for (const Rung& rung : climb.rungs) {
    reported.push_back(
        fmt::format("{} ({})", format_quantity(rung.rate, Dimension::per_second),
                    rung.held ? "p99 " + format_quantity(rung.p99_s, Dimension::seconds) : "no: " + rung.why));
  }
  return fmt::format("{}", fmt::join(reported, ", "));
}

}  // namespace headrace
