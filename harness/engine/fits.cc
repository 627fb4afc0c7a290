#include "harness/engine/fits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/collective_fit.h"
#include "harness/units.h"

namespace headrace::engine {
namespace {

constexpr double kBucket = 25 * 1024 * 1024;  // as judging.cc asks

double median_of(const PointResult& point, std::string_view name) {
  for (const MetricSummary& m : point.metrics)
    if (m.name == name) return m.median;
  return 0;
}

/// What was measured at several sizes, all else being equal.
using Group = std::vector<PointResult*>;

std::map<std::string, Group> groups(std::vector<PointResult>& points) {
  std::map<std::string, Group> all;
  for (PointResult& p : points) {
    const auto size = p.point->params.find("message_size");
    if (p.status != PointStatus::ok || size == p.point->params.end() ||
        median_of(p, "busbw") <= 0 || median_of(p, "time_s") <= 0)
      continue;
    std::string key(p.point->info->name);
    for (const auto& [name, value] : p.point->params) {
      if (name == "message_size" || name == "calls") continue;
      key += "/" + name + std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
    }
    all[key].push_back(&p);
  }
  return all;
}

std::string told(const Plan& plan, const Group& group, const CollectiveFit& fit) {
  const auto seconds = [](double s) { return format_quantity(s, Dimension::seconds); };
  const auto rate = [](double r) { return format_quantity(r, Dimension::bytes_per_second); };
  std::string text = fmt::format("fitted over {} sizes: {} + size / {}", group.size(),
                                 seconds(fit.fixed_s), rate(fit.bytes_per_s));
  if (!group.front()->point->info->name.ends_with("all_reduce")) return text;
  // busbw / algbw is 2(n-1)/n: so many ranks.
  const double factor = median_of(*group.front(), "busbw") / median_of(*group.front(), "algbw");
  if (!(factor > 0) || factor >= 2) return text;
  const auto n = static_cast<unsigned>(std::lround(2 / (2 - factor)));
  if (n < 2) return text;
  const RingModel model = ring_model(fit, n);
  text += fmt::format("; as a ring of {} ranks (F3): {} a hop, {} a link", n,
                      seconds(model.alpha_s), rate(model.link_bytes_per_s));
  if (!plan.job) return text;
  const auto step = gradient_step(model, *plan.job, kBucket);
  if (!step) return text;
  return text + fmt::format(
                    "; the job's gradients, {:.0f} ranks, {:.0f} buckets: {} a step, of which {} "
                    "are exposed",
                    step->ranks, step->buckets, seconds(step->time_s), seconds(step->exposed_s));
}

}  // namespace

void tell_of_fits(const Plan& plan, std::vector<PointResult>& points) {
  for (auto& [key, group] : groups(points)) {
    std::vector<std::pair<double, double>> times;
    for (const PointResult* p : group) {
      const double time_s = median_of(*p, "time_s");
      times.emplace_back(median_of(*p, "algbw") * time_s, time_s);
    }
    if (const auto fit = fit_collective(times)) {
      const auto last = std::max_element(group.begin(), group.end(),
                                         [](const PointResult* a, const PointResult* b) {
                                           return median_of(*a, "time_s") < median_of(*b, "time_s");
                                         });
      (*last)->notes.push_back(told(plan, group, *fit));
    }
  }
}

}  // namespace headrace::engine
