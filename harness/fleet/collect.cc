// What is kept of each run, so that ten thousand fit into memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "harness/comparison/gates.h"
#include "harness/fleet/state.h"
#include "harness/results/skip_members.h"

namespace headrace::fleet {
namespace {

using results::JsonPlace;
using results::StoredPoint;
using results::StoredRun;

/// Sections of the fingerprint that are hardware, firmware, and what drives them.
bool is_hardware(std::string_view key) {
  const std::string_view section = key.substr(0, key.find('.'));
  if (section == "cpu" || section.starts_with("gpu") || section.starts_with("nic")) return true;
  for (const std::string_view one :
       {"device.model", "device.firmware", "device.transport", "device.size", "device.scheduler",
        "file_system.type", "file_system.options", "kernel.release"})
    if (key == one) return true;
  return false;
}

/// "251.4 GiB" as "250 GiB": firmware keeps a little more on one node than on the next.
std::string rounded_memory(const std::string& text) {
  const double value = std::atof(text.c_str());
  if (value <= 0) return text;
  const double step = std::pow(10.0, std::floor(std::log10(value)) - 1);
  return fmt::format("{:g}{}", std::round(value / step) * step, text.substr(text.find(' ')));
}

std::string hardware_of(const StoredRun& run) {
  std::string lines = fmt::format("headrace.version {}\n", run.version);
  for (const auto& [key, value] : run.environment)
    if (is_hardware(key)) lines += fmt::format("{} {}\n", key, value);
  if (const auto memory = run.environment.find("memory.total"); memory != run.environment.end())
    lines += fmt::format("memory.total {}\n", rounded_memory(memory->second));
  return lines;
}

std::string key_of(const StoredPoint& point, const std::string& metric) {
  std::string key = point.workload + "\n" + metric;
  for (const auto& [name, value] : point.params) key += "\n" + name + "=" + value;
  return key;
}

/// A point's matrices: {"metric", "unit", "better", "nodes": [...], "values": [[null, 1e9], ...]}.
void read_pairs(const JsonPlace& point, std::vector<PairMatrix>& all) {
  point.at("pairs").each([&](const JsonPlace& place) {
    PairMatrix m;
    m.workload = point.at("workload").text();
    m.point = point.at("id").text();
    m.metric = place.at("metric").text();
    m.unit = place.text("unit", "B/s");
    m.better = place.text("better", "higher") == "lower" ? Better::lower : Better::higher;
    m.nodes = place.at("nodes").texts();
    place.at("values").each([&](const JsonPlace& row) {
      std::vector<double> values;
      row.each([&](const JsonPlace& value) {
        values.push_back(value.value().is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                 : value.number());
      });
      if (values.size() != m.nodes.size())
        row.refuse(fmt::format("{} values of {} nodes", values.size(), m.nodes.size()));
      m.values.push_back(std::move(values));
    });
    if (m.values.size() != m.nodes.size())
      place.at("values").refuse(
          fmt::format("{} rows of {} nodes", m.values.size(), m.nodes.size()));
    all.push_back(std::move(m));
  });
}

}  // namespace

Collector::Collector(comparison::Options options)
    : state_(std::make_unique<State>(std::move(options))) {}
Collector::~Collector() = default;

void Collector::add(const StoredRun& run, std::vector<PairMatrix> pairs) {
  NodeRun kept;
  kept.node = run.node;
  kept.run = run.id;
  kept.path = run.path;
  kept.started_utc = run.started_utc;
  kept.word = run.summary.word;
  kept.config_file = run.config_file;
  kept.hardware = hardware_of(run);
  kept.needs_failed = run.count("FAIL") > 0;
  kept.noise = run.noise;
  const std::lock_guard lock(state_->mutex);
  for (const StoredPoint& point : run.points) {
    for (const results::StoredMetric& metric : point.metrics) {
      if (metric.values.empty() || metric.better == Better::neither ||
          !std::isfinite(metric.median))
        continue;
      if (!comparison::is_gate(point, metric.name, state_->options, run)) continue;
      const auto [known, is_new] =
          state_->index.try_emplace(key_of(point, metric.name), state_->metrics.size());
      if (is_new)
        state_->metrics.push_back({point.workload, point.id, metric.name, metric.unit,
                                   metric.description, point.params, metric.better,
                                   comparison::delta_of(metric.name, state_->options)});
      kept.values.emplace_back(known->second, metric.median);
    }
  }
  state_->runs.push_back(std::move(kept));
  for (PairMatrix& matrix : pairs) state_->pairs.push_back(std::move(matrix));
}

void collect(const std::string& path, Collector& collector) {
  // Most of a run file is repetitions, of which a fleet needs nothing.
  static constexpr std::string_view kSkipped[] = {"repetitions", "resolved"};
  const std::string file = results::run_file_in(path);
  try {
    const std::string text = results::skip_members(results::file_text(file), kSkipped);
    std::vector<PairMatrix> pairs;
    const StoredRun run = results::parse_run(text, file);
    if (text.find("\"pairs\"") != text.npos) {
      const nlohmann::json document = results::parse_json(text);
      JsonPlace(document).at("points").each([&](const JsonPlace& point) {
        if (point.has("pairs")) read_pairs(point, pairs);
      });
    }
    collector.add(run, std::move(pairs));
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

}  // namespace headrace::fleet
