#include "harness/judge/verdict/across_sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/quantiles.h"
#include "harness/job/need_kinds.h"

namespace headrace {
double possible(const Judgement& j, double bound) {
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  const bool share = j.unit == "ratio" && j.measured && is_share(*j.measured) && is_share(j.need);
  return share ? std::clamp(bound, 0.0, 1.0) : bound;
}

}  // namespace headrace

namespace headrace::judging {
namespace {

constexpr double kOneSided = 0.95;

}  // namespace

void hold_across_sessions(const statistics::SessionSpread& past, Judgement& j) {
  const bool decided = j.outcome == Outcome::pass || j.outcome == Outcome::fail;
  if (past.sessions < 2 || !decided || !j.measured || !(*j.measured > 0) || j.low == j.high) return;
  const double between = statistics::t_quantile(kOneSided, past.sessions - 1.0) * past.spread;
  const auto apart = [&](double bound) { return std::hypot(std::log(bound / *j.measured), between); };
  if (j.low && *j.low > 0) j.low = *j.measured * std::exp(-apart(*j.low));
  if (j.high) j.high = possible(j, *j.measured * std::exp(apart(*j.high)));
  const auto shown = [&](const std::optional<double>& value) {
    return value ? job::format_named(*value, j.unit, j.id) : std::string("?");
  };
  j.explanation += fmt::format(" {} past sessions scatter by {:.1f} %: any of them is bounded by [{}, {}]",
                               past.sessions, past.spread * 100, shown(j.low), shown(j.high));
  const auto& decides = (j.outcome == Outcome::pass) == j.higher_is_better ? j.low : j.high;
  if (decides && j.meets(*decides) == (j.outcome == Outcome::pass)) {
    j.explanation += ".";
    return;
  }
  j.explanation += ", which do not decide it.";
  j.outcome = Outcome::inconclusive;
  j.reason = Reason::single_session;
  j.thin = false;
  j.next_step = "measure on other days, too; headrace size holds the runs of several sessions against the job together";
}

}  // namespace headrace::judging
