// The part of each run that is kept, so that ten thousand fit into memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "harness/analysis/comparison/comparison.h"
#include "harness/analysis/fleet/state.h"
#include "harness/base/file_text.h"
#include "harness/judge/verdict/slow_parts.h"
#include "harness/results/metric_key.h"
#include "harness/results/parts.h"
#include "harness/results/skip_members.h"

namespace headrace::fleet {
namespace {

using results::StoredPoint;
using results::StoredRun;

/// Parts of the fingerprint that are hardware, firmware, and what drives them. Most facts of a GPU are its own (uuid,
/// address) or change (clock, power, temperature). With them each node would be a group of its own.
bool is_hardware(std::string_view key) {
  const std::string_view section = key.substr(0, key.find('.'));
  if (section == "cpu" || section.starts_with("nic")) return true;
  if (section.starts_with("gpu")) {
    for (const std::string_view one :
         {".name", ".driver", ".memory", ".link_at_most", ".mig", ".reads_pageable_memory"})
      if (key.substr(section.size()) == one) return true;
    return false;
  }
  for (const std::string_view one : {"device.model", "device.firmware", "device.transport", "device.size",
                                     "device.scheduler", "file_system.type", "file_system.options", "kernel.release"})
    if (key == one) return true;
  return false;
}

std::string hardware_of(const StoredRun& run) {
  std::string lines = fmt::format("headrace.version {}\n", run.version);
  for (const auto& [key, value] : run.environment)
    if (is_hardware(key)) lines += fmt::format("{} {}\n", key, value);
  return lines;
}

/// Without its pairs' findings on other nodes and the links between them.
Outcome own_word(const StoredRun& run) {
  if (std::none_of(run.judgements.begin(), run.judgements.end(), judging::of_pairs)) return run.summary.word;
  std::vector<Outcome> of_needs;
  for (const Judgement& one : run.judgements)
    if (!judging::of_pairs(one)) of_needs.push_back(one.outcome);
  PointCounts points{.all = static_cast<unsigned>(run.points.size())};
  for (const StoredPoint& point : run.points)
    points.skipped += point.status == results::to_string(PointStatus::skipped);
  points.failed = run.summary.error - run.count(Outcome::error);
  return summarize(of_needs, run.signal, points).word;
}

}  // namespace

Collector::Collector(results::MetricFilter metrics, double delta_rate, double delta_tail)
    : state_(std::make_unique<State>(std::move(metrics), delta_rate, delta_tail)) {}
Collector::~Collector() = default;
Collector::Collector(Collector&&) noexcept = default;

std::uint32_t Collector::State::text(const std::string& text) {
  const auto [known, is_new] = text_index.try_emplace(text, static_cast<std::uint32_t>(texts.size()));
  if (is_new) texts.push_back(text);
  return known->second;
}

void Collector::add(const StoredRun& run) {
  NodeRun kept;
  kept.node = run.node;
  kept.run = run.id;
  kept.path = run.path;
  kept.started_utc = run.started_utc;
  kept.ended_s = run.ended_s();
  kept.began_s = kept.ended_s > 0 ? kept.ended_s - run.elapsed_s : 0;
  kept.word = own_word(run);
  kept.config_file = run.config_file;
  kept.measuring_command = run.measuring_command();
  kept.hardware = hardware_of(run);
  if (const auto memory = run.environment.find("memory.total"); memory != run.environment.end())
    kept.memory = memory->second;
  std::vector<std::string> slow_parts;
  for (const Judgement& one : run.judgements) {
    if (!judging::of_pairs(one))
      kept.needs.emplace_back(one.id + "\n" + one.scope, one.outcome);
    else if (one.outcome == Outcome::fail)
      slow_parts.push_back(one.scope);
  }
  kept.noise = run.noise;
  const std::lock_guard lock(state_->mutex);
  for (const auto& [key, value] : run.environment) kept.facts.emplace_back(state_->text(key), state_->text(value));
  for (const StoredPoint& point : run.points) {
    if (point.pairs) {
      state_->pairs.push_back({results::point_key(point), point.workload, point.id, run.id, run.path, run.started_utc,
                               kept.began_s, kept.ended_s, *point.pairs, slow_parts});
    }
    for (const results::StoredMetric& metric : point.metrics) {
      if (metric.values.empty() || metric.better == Better::neither || !std::isfinite(results::value_of(metric)))
        continue;
      if (!state_->metrics_asked.selects(run, point, metric.name)) continue;
      const auto [known, is_new] =
          state_->index.try_emplace(results::metric_key(point, metric), state_->metrics.size());
      if (is_new)
        state_->metrics.push_back({point.workload, point.id, metric.name, results::unit_scale(metric.unit).base,
                                   metric.description, point.params, metric.better,
                                   comparison::delta_of(metric.name, state_->delta_rate, state_->delta_tail)});
      kept.values.push_back({known->second, results::value_of(metric) * results::unit_scale(metric.unit).factor,
                             results::left_out_for(point)});
    }
  }
  state_->runs.push_back(std::move(kept));
}

void collect(const std::string& path, Collector& collector) {
  // Most of a run file is phases of repetitions, of which a fleet needs nothing.
  static constexpr std::string_view kSkipped[] = {"phases", "resolved"};
  const std::string file = results::run_file_in(path);
  try {
    collector.add(results::parse_run(results::skip_members(file_text(file), kSkipped), file));
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

}  // namespace headrace::fleet
