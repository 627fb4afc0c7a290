#include "harness/engine/point_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/engine/explain/loader_trials.h"
#include "harness/engine/explain/measured_point.h"
#include "harness/engine/explain/rehearsal.h"
#include "harness/engine/plan/rehearsal.h"
#include "harness/engine/plan/time_share.h"

namespace headrace::engine {
namespace {

using rehearsal::kPipeline;

std::string id_of(const char* label) { return fmt::format("{}/{}", kPipeline, label); }

bool is_begun(const PointResult& result) { return result.status != PointStatus::not_reached; }

/// The proven part of the loader's limit so far; nothing: there is none.
std::optional<Limit> limit_so_far(const std::vector<PointResult>& results) {
  const PointResult* whole = measured_point(results, kPipeline, rehearsal::kJob);
  if (whole == nullptr) return std::nullopt;
  const Limit limit = prove_limit(loader_rates(results, *whole)).limit;
  // These two are tried in turn: one alone decides nothing.
  return limit == Limit::unknown || limit == Limit::storage || limit == Limit::decoding ? std::nullopt
                                                                                        : std::optional(limit);
}

/// The setting that is to be tried next; "" = none.
std::string next_try(const Plan& plan, const std::vector<PointResult>& results) {
  const auto trials = loader_trials(plan, results);
  if (!trials) return "";
  const double target = plan.job->step.target_utilization;
  // A setting that was begun and gave nothing is not tried again.
  const auto open = [&](double workers, double ahead) -> std::string {
    std::string id = fmt::format("{}/{}", kPipeline, rehearsal::setting_label(workers, ahead));
    if (workers == trials->own->workers) id = fmt::format("{}{:.0f}", id_of(rehearsal::kPrefetch), ahead);
    const bool is_open =
        std::ranges::any_of(results, [&](const PointResult& p) { return p.point->id == id && !is_begun(p); });
    return is_open ? id : "";
  };
  if (const auto workers = next_workers(*trials, target))
    if (std::string id = open(*workers, 0); !id.empty()) return id;
  const auto setting = next_prefetch(*trials, target);
  return setting ? open(setting->workers, setting->prefetch_factor) : "";
}

unsigned tries(const std::vector<PointResult>& results) {
  return static_cast<unsigned>(
      std::ranges::count_if(results, [](const PointResult& p) { return is_tried_on_demand(*p.point) && is_begun(p); }));
}

/// The less, the earlier: settings are tried after the loader alone, and before the points that show its limit.
auto rank(const std::string& id, const std::string& trial) {
  const std::string order[] = {
      id_of(rehearsal::kJob),           id_of(rehearsal::kNoCheckpoint), id_of(rehearsal::kNoStep),  trial,
      id_of(rehearsal::kDoubleWorkers), id_of(rehearsal::kInMemory),     id_of(rehearsal::kNoDecode)};
  return std::ranges::find(order, id) - std::begin(order);
}

double weight(const Point& point) {
  if (point.id == id_of(rehearsal::kJob)) return time_share::kRehearsed;
  if (point.id == id_of(rehearsal::kNoStep)) return 2 * time_share::kAdvice;
  return point.id == "host_facts" ? 0 : is_tried_on_demand(point) ? time_share::kTried : time_share::kAdvice;
}

}  // namespace

bool is_tried_on_demand(const Point& point) {
  return point.id.starts_with(id_of(rehearsal::kWorkers)) || point.id.starts_with(id_of(rehearsal::kPrefetch));
}

std::string why_not_needed(const Plan& plan, const std::vector<PointResult>& results, const Point& point) {
  const bool shows_limit = point.id == id_of(rehearsal::kDoubleWorkers) || point.id == id_of(rehearsal::kInMemory) ||
                           point.id == id_of(rehearsal::kNoDecode);
  if (!plan.rehearsal || !shows_limit) return "";
  const auto limit = limit_so_far(results);
  return limit ? fmt::format("not needed: what limits is proven without it ({})", to_string(*limit)) : "";
}

std::optional<NextPoint> next_point(const Plan& plan, const std::vector<PointResult>& results) {
  const auto open = [&](std::size_t i) { return !is_begun(results[i]); };
  const bool by_value =
      plan.rehearsal && std::ranges::any_of(plan.points, [](const Point& p) { return p.id == id_of(rehearsal::kJob); });
  if (!by_value) {
    for (std::size_t i = 0; i < results.size(); ++i)
      if (open(i)) return NextPoint{i, std::nullopt};
    return std::nullopt;
  }
  const std::string trial = next_try(plan, results);
  const unsigned tried = tries(results);
  const bool tunes = std::ranges::any_of(plan.points, is_tried_on_demand);
  std::optional<std::pair<std::ptrdiff_t, std::size_t>> next;  // rank and index
  double all = tunes && (!trial.empty() || tried == 0)
                   ? time_share::kTried * std::max(1.0, double{time_share::kTries} - tried)
                   : 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Point& point = plan.points[i];
    if (!open(i) || !why_not_needed(plan, results, point).empty()) continue;
    if (is_tried_on_demand(point) && point.id != trial) continue;
    if (!is_tried_on_demand(point)) all += weight(point);
    if (const std::pair own(rank(point.id, trial), i); !next || own < *next) next = own;
  }
  if (!next) return std::nullopt;
  return NextPoint{next->second, all != 0 ? weight(plan.points[next->second]) / all : 1};
}

}  // namespace headrace::engine
