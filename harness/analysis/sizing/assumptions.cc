// What if the job is not quite as described? Each input varied alone; the supply stays.
#include <algorithm>
#include <cmath>

#include "harness/analysis/sizing/parts.h"
#include "harness/base/units.h"
#include "harness/job/job_keys.h"

namespace headrace::sizing {
namespace {

using job::Job;
using job::JobKey;

constexpr std::string_view kVaried[] = {
    "step.time",        "dataset.sample_size", "cluster.nodes",       "dataset.read_amplification",
    "step.micro_batch", "checkpoint.stall",    "checkpoint.interval", "checkpoint.restore",
    "model.parameters"};
constexpr double kFactors[] = {0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.2, 1.4, 2, 2.8, 4};

/// The smallest headroom over the measured phases; nothing when there can be no such job.
std::optional<double> smallest_headroom(const Sizing& s, const JobKey& key, double value) {
  if (!key.range.allows(value)) return std::nullopt;
  Job job = s.job;
  try {
    key.set(job, value);
    job::derive_values(job);
    const auto needs = job::derive_needs(job);
    double least = HUGE_VAL;
    for (const Phase& p : s.phases) {
      if (!p.curve) continue;
      const auto demand = demand_of(job, needs, kind_of(p.phase));
      if (!demand) continue;
      const double nodes = p.curve->reach(job.cluster.nodes);
      least = std::min(least, p.curve->at(nodes).mean / (demand->need * nodes / job.cluster.nodes));
    }
    return std::isfinite(least) ? std::optional(least) : std::nullopt;
  } catch (const job::DomainError&) {
    return std::nullopt;
  }
}

/// Where the headroom crosses 1 between two values on either side of it.
double crossing(const Sizing& s, const JobKey& key, double a, double b, bool a_is_met) {
  for (int i = 0; i < 40; ++i) {
    const double middle = std::sqrt(a * b);
    const auto headroom = smallest_headroom(s, key, middle);
    if (!headroom) break;
    ((*headroom >= 1) == a_is_met ? a : b) = middle;
  }
  return std::sqrt(a * b);
}

Assumption vary(const Sizing& s, const JobKey& key, double center) {
  Assumption out;
  out.key = key.path;
  out.unit = key.dimension == Dimension::count || key.dimension == Dimension::ratio
                 ? ""
                 : std::string(unit_name(key.dimension));
  out.value = center;
  const bool whole = key.path == "cluster.nodes" || key.path == "step.micro_batch";
  for (const double factor : kFactors) {
    const double value = whole ? std::round(center * factor) : center * factor;
    if (!out.values.empty() && value == out.values.back()) continue;
    const auto headroom = smallest_headroom(s, key, value);
    if (!headroom) continue;
    out.values.push_back(value);
    out.headroom.push_back(*headroom);
  }
  double nearest = HUGE_VAL;
  for (std::size_t i = 1; i < out.values.size(); ++i) {
    const bool before = out.headroom[i - 1] >= 1, after = out.headroom[i] >= 1;
    if (before == after) continue;
    const double at = whole ? (before ? out.values[i] : out.values[i - 1])
                            : crossing(s, key, out.values[i - 1], out.values[i], before);
    if (std::abs(std::log(at / center)) >= nearest) continue;
    nearest = std::abs(std::log(at / center));
    out.flips_at = at;
  }
  return out;
}

}  // namespace

std::vector<Assumption> assumptions_of(const Sizing& s) {
  std::vector<Assumption> all;
  for (const std::string_view path : kVaried) {
    const auto given = s.job.values.find(std::string(path));
    if (given == s.job.values.end() || s.job.derived.contains(std::string(path))) continue;
    const JobKey* key = job::find_job_key(path);
    const Parsed center = parse_quantity(given->second, key->dimension);
    if (key->set == nullptr || !center || center.value <= 0) continue;
    Assumption one = vary(s, *key, center.value);
    const auto [least, most] = std::minmax_element(one.headroom.begin(), one.headroom.end());
    if (one.values.size() < 3 || *most - *least < 1e-9) continue;  // nothing hangs on it
    all.push_back(std::move(one));
  }
  const auto distance = [](const Assumption& a) {
    return a.flips_at ? std::abs(std::log(*a.flips_at / a.value)) : HUGE_VAL;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Assumption& a, const Assumption& b) { return distance(a) < distance(b); });
  return all;
}

}  // namespace headrace::sizing
