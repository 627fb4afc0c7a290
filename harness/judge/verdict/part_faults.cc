#include "harness/judge/verdict/part_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/base/median.h"
#include "harness/job/need_kinds.h"

namespace headrace::judging {
namespace {

/// The devices that counted any: "gpu3 (13)".
std::string counted_by(const RecordedPoint& point, std::string_view metric) {
  const std::string prefix = std::string(metric) + "_";
  std::map<std::string, double> most;
  for (const RecordedRepetition& r : point.repetitions)
    for (const auto& [name, value] : r.metrics)
      if (name.starts_with(prefix) && value > 0) {
        double& known = most[name.substr(prefix.size())];
        known = std::max(known, value);
      }
  for (const PartFault& one : point.faults)
    if (one.count == metric) most[one.part] = std::max(most[one.part], one.times);
  std::string all;
  for (const auto& [device, times] : most) all += fmt::format("{}{} ({:g})", all.empty() ? "" : ", ", device, times);
  return all;
}

/// Combines several faults of one part.
void add(Judgement& j, const PartFault& fault, const FaultCount& count) {
  if (j.explanation.find(fault.text) != j.explanation.npos) return;
  j.explanation += (j.explanation.empty() ? "" : "; ") + fault.text;
  if (j.next_step.find(count.fix) == j.next_step.npos)
    j.next_step += (j.next_step.empty() ? "" : "; ") + std::string(count.fix);
}

}  // namespace

bool is_count(const Judgement& j) {
  return j.id == kPartFault || find_fault_count(j.metric.substr(j.metric.find('.') + 1)) != nullptr;
}

std::vector<Judgement> judge_faults(std::span<const RecordedPoint> points) {
  std::vector<Judgement> all;
  for (const RecordedPoint& point : points)
    for (const PartFault& fault : point.faults) {
      const FaultCount* count = find_fault_count(fault.count);
      if (count == nullptr || !count->always) continue;
      auto known = std::find_if(all.begin(), all.end(), [&](const Judgement& j) { return j.scope == fault.part; });
      if (known == all.end()) {
        Judgement& j = all.emplace_back();
        j.id = kPartFault;
        j.scope = fault.part;
        j.outcome = Outcome::fail;
        j.unit = "count";
        j.higher_is_better = false;
        j.measured = j.low = j.high = fault.times;
        j.point = point.id;
        j.metric = point.workload + "." + fault.count;
        known = all.end() - 1;
      }
      add(*known, fault, *count);
    }
  for (Judgement& j : all) j.explanation = fmt::format("{} is broken: {}.", j.scope, j.explanation);
  return all;
}

std::optional<double> most_counted(const RecordedPoint& point, std::string_view metric) {
  std::optional<double> most;
  const auto take = [&most](double value) { most = std::max(most.value_or(value), value); };
  for (const RecordedRepetition& r : point.repetitions)
    if (const auto at = r.metrics.find(std::string(metric)); at != r.metrics.end()) take(at->second);
  for (const PartFault& one : point.faults)
    if (one.count == metric) take(one.times);
  return most;
}

void judge_count(const RecordedPoint& point, std::string_view metric, Judgement& j) {
  j.measured = j.low = j.high = most_counted(point, metric);
  j.repetitions = static_cast<unsigned>(
      std::count_if(point.repetitions.begin(), point.repetitions.end(),
                    [&](const RecordedRepetition& r) { return r.metrics.contains(std::string(metric)); }));
  if (!j.measured) return;
  j.outcome = j.meets(*j.measured) ? Outcome::pass : Outcome::fail;
  const std::string needed = job::format_named(j.need, j.unit, j.id);
  if (j.outcome == Outcome::pass) {
    j.explanation = fmt::format("Counted {:g} in {} repetition{}; at most {} is allowed.", *j.measured, j.repetitions,
                                j.repetitions == 1 ? "" : "s", needed);
    return;
  }
  const std::string by = counted_by(point, metric);
  j.explanation = fmt::format("Counted {:g}{}; at most {} is allowed. One occurrence is a fault, whatever else ran.",
                              *j.measured, by.empty() ? "" : ": " + by, needed);
  const FaultCount* count = find_fault_count(metric);
  j.next_step = count != nullptr && !count->fix.empty() ? std::string(count->fix)
                                                        : "look at the notes of this point and at dmesg";
}

namespace {

/// "gpu3", "gpu0_gpu1", "mlx5_3_1": names of devices end with a number, and so do percentiles ("p99").
bool names_device(std::string_view behind_metric) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !behind_metric.empty() && digit(behind_metric.back()) &&
         !(behind_metric.front() == 'p' && std::ranges::all_of(behind_metric.substr(1), digit));
}

}  // namespace

void name_devices(const RecordedPoint& point, std::string_view metric, Judgement& j) {
  if (!j.measured || j.meets(*j.measured)) return;
  const std::string prefix = std::string(metric) + "_";
  std::map<std::string, std::vector<double>> values;
  for (const RecordedRepetition& r : point.repetitions)
    for (const auto& [name, value] : r.metrics)
      if (r.counted && name.starts_with(prefix) && names_device(std::string_view(name).substr(prefix.size())))
        values[name.substr(prefix.size())].push_back(value);
  std::string miss;
  std::size_t meet = 0;
  for (const auto& [device, all] : values) {
    const double median = statistics::median(all);
    if (j.meets(median))
      ++meet;
    else
      miss += fmt::format("{}{} ({})", miss.empty() ? "" : ", ", device, job::format_named(median, j.unit, j.id));
  }
  if (meet > 0 && !miss.empty())
    j.explanation +=
        fmt::format(" Of {} {}, {} meet it, but not {}.", values.size(),
                    values.begin()->first.starts_with("gpu") ? "GPUs or pairs of them" : "ports", meet, miss);
}

}  // namespace headrace::judging
