#include "harness/engine/explain/rules_kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "harness/base/units.h"
#include "harness/engine/explain/measured_point.h"
#include "harness/engine/plan/benchmark/checkpoints.h"
#include "harness/engine/plan/job_points/checkpoints.h"
#include "harness/engine/plan/rehearsal.h"

namespace headrace::engine {
namespace {

/// For the benchmark's bytes, which it reports rounded.
constexpr double kWhole = 0.97;

std::vector<double> values(const PointResult& point, std::string_view name) {
  for (const MetricSummary& m : point.metrics)
    if (m.name == name) return m.values;
  return {};
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

unsigned counted(const PointResult* point) {
  return point == nullptr ? 0 : static_cast<unsigned>(std::ranges::count_if(point->repetitions, &Repetition::counted));
}

unsigned counted_cold(const PointResult* point) {
  return point == nullptr ? 0
                          : static_cast<unsigned>(std::ranges::count_if(point->repetitions, [](const Repetition& r) {
                              return r.counted && r.cache.required && r.cache.is_evidence();
                            }));
}

/// The bytes of the smallest repetition that counts [B].
double least_bytes(const PointResult* point) {
  std::uint64_t least = UINT64_MAX;
  if (point != nullptr)
    for (const Repetition& r : point->repetitions) {
      std::uint64_t all = 0;
      for (const PhaseResult& phase : r.phases) all += phase.bytes;
      if (r.counted) least = std::min(least, all);
    }
  return least == UINT64_MAX ? 0 : static_cast<double>(least);
}

BenchmarkSaves reported(const PointResult& point, std::string_view time, std::string_view rate) {
  return {.count = counted(&point), .each_s = mean(values(point, time)), .bytes_per_s = mean(values(point, rate))};
}

std::string reported_for(const BenchmarkSaves& s, const char* what) {
  return fmt::format("{} checkpoint{} {}: each in {}, {}, in the mean", s.count, s.count == 1 ? "" : "s", what,
                     format_quantity(s.each_s, Dimension::seconds),
                     format_quantity(s.bytes_per_s, Dimension::bytes_per_second));
}

}  // namespace

std::vector<RuleCheck> check_measured(const PointResult& whole, double asked) {
  using namespace benchmark_rules;
  const std::vector<double> steps = values(whole, "steps"), utilization = values(whole, "accelerator_utilization");
  // The first one, which is not among the steps that are counted, is the benchmark's, too.
  const double fewest = steps.empty() ? 0 : 1 + *std::min_element(steps.begin(), steps.end());
  const double cold = counted_cold(&whole);
  const auto runs = static_cast<double>(utilization.size());
  const double middle = mean(utilization);
  double furthest = 0;
  for (const double u : utilization) furthest = std::max(furthest, std::abs(u - middle) / middle);
  return {
      {"steps", fewest >= kFewestSteps, fmt::format("{:.0f} steps or more in each run: {:.0f}", kFewestSteps, fewest)},
      {"runs", runs >= kRuns, fmt::format("{:.0f} runs one after the other: {:.0f}", kRuns, runs)},
      {"caches", runs > 0 && cold >= runs,
       fmt::format("nothing comes from this host's memory: proven of {:.0f} of {:.0f} runs", cold, runs)},
      {"utilization", runs > 0 && middle >= asked,
       fmt::format("a mean utilization of {}: {}", format_percent(asked), format_percent(middle))},
      {"replicated", runs > 1 && furthest <= kReplicated,
       fmt::format("runs within {} of their mean: within {}", format_percent(kReplicated), format_percent(furthest))}};
}

std::vector<RuleCheck> check_measured_saves(const PointResult* saves, const PointResult* reads, double bytes) {
  using namespace benchmark_rules;
  const double smallest = std::min(least_bytes(saves), least_bytes(reads));
  const auto synced = [&] {
    const auto how = saves->point->params.find("durability");
    return how != saves->point->params.end() && how->second == ParamValue{std::string("fsync")};
  };
  const unsigned all = counted(reads), cold = counted_cold(reads);
  const auto size = [](double b) { return format_quantity(b, Dimension::bytes); };
  return {{"size", smallest >= kWhole * bytes,
           fmt::format("these ranks save and read {}: {}", size(bytes), size(smallest))},
          {"saves", counted(saves) == kCheckpoints,
           fmt::format("{:.0f} checkpoints are saved: {}", kCheckpoints, counted(saves))},
          {"reads", all == kCheckpoints, fmt::format("{:.0f} are read: {}", kCheckpoints, all)},
          {"fsync", saves != nullptr && synced(), "each is made durable by fsync"},
          {"caches", all > 0 && cold == all,
           fmt::format("nothing is read from this host's memory: proven of {} of {} reads", cold, all)}};
}

std::optional<HeldRules> rules_held(const Plan& plan, const std::vector<PointResult>& points) {
  if (plan.rules.empty()) return std::nullopt;
  HeldRules held{.name = plan.rules, .checks = plan.rule_checks, .saves = std::nullopt, .reads = std::nullopt};
  std::vector<RuleCheck> measured;
  if (const BenchmarkModel* const model = benchmark_model(plan.rules, *plan.job)) {
    const PointResult *const saves = measured_point(points, "checkpoint_write", rehearsal::kJob),
                             *const reads = measured_point(points, "checkpoint_read", rehearsal::kJob);
    const PointResult* const any = saves != nullptr ? saves : reads;
    if (any == nullptr) return std::nullopt;
    if (saves != nullptr) held.saves = reported(*saves, "time_to_durable_s", "durable_bandwidth");
    if (reads != nullptr) held.reads = reported(*reads, "time_to_restored_s", "read_bandwidth");
    const double hosts = any->processes;
    measured = check_measured_saves(
        saves, reads, bytes_saved(*model, {.hosts = hosts, .ranks_on_host = job_points::ranks_here(*plan.job)}));
  } else {
    const PointResult* const whole = measured_point(points, "input_pipeline", rehearsal::kJob);
    if (whole == nullptr) return std::nullopt;
    measured = check_measured(*whole, plan.job->step.target_utilization);
  }
  for (RuleCheck& check : measured) held.checks.push_back(std::move(check));
  return held;
}

std::vector<std::string> describe(const HeldRules& held) {
  std::vector<std::string> all;
  if (held.saves) all.push_back(reported_for(*held.saves, "saved"));
  if (held.reads) all.push_back(reported_for(*held.reads, "read"));
  const auto kept = std::ranges::count_if(held.checks, &RuleCheck::kept);
  all.push_back(fmt::format("of the {} rules of {} this run kept {}{}", held.checks.size(), held.name, kept,
                            static_cast<std::size_t>(kept) == held.checks.size()
                                ? ": all that one host can keep"
                                : ": it is no result of that benchmark"));
  for (const RuleCheck& check : held.checks)
    if (!check.kept) all.push_back(fmt::format("broken ({}): {}", check.rule, check.reported));
  return all;
}

}  // namespace headrace::engine
