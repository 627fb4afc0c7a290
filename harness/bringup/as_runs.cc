#include "harness/bringup/as_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/diagnostics.h"
#include "harness/base/file_text.h"
#include "harness/results/pair_metrics.h"

namespace headrace::bringup {
namespace {

using results::RatedPairs;
using results::StoredMetric;

/// Of the middle pair of each round.
StoredMetric of_rounds(const char* name, const char* unit, Better better, const SessionRecord& session,
                       double (*value)(const PairMeasured&)) {
  StoredMetric one;
  one.name = name;
  one.unit = unit;
  one.better = better;
  for (const RoundRecord& round : session.rounds) {
    StoredMetric of_round;
    for (const PairMeasured& pair : round.pairs) of_round.values.push_back(value(pair));
    if (of_round.values.empty()) continue;
    results::summarize_range(of_round);
    one.values.push_back(of_round.median);
  }
  results::summarize_range(one);
  return one;
}

/// What met in each round, over each rail: a round is a repetition.
std::vector<RatedPairs> rounds_of(const Record& record, const SessionRecord& session) {
  std::size_t count = 1;
  for (const NodeRecord& node : record.nodes) count = std::max(count, node.host.rails.size());
  std::vector<RatedPairs> all;
  for (const RoundRecord& round : session.rounds)
    for (std::size_t rail = 0; rail < count; ++rail) {
      RatedPairs& met = all.emplace_back();
      for (const NodeRecord& node : record.nodes)
        met.names.push_back(node.host.name +
                            (count > 1 && rail < node.host.rails.size() ? " " + node.host.rails[rail] : ""));
      for (const PairMeasured& one : round.pairs)
        if (one.rail == rail) met.all.push_back({one.a, one.b, one.slower()});
    }
  return all;
}

results::StoredPoint point_of(const Record& record, const SessionRecord& session) {
  results::StoredPoint point;
  point.id = point.workload = "bringup";
  point.status = "ok";
  point.params = {{"time", fmt::format("{} s", record.measuring.time_s)},
                  {"streams", std::to_string(record.measuring.streams)}};
  point.repetitions = static_cast<unsigned>(session.rounds.size());
  point.metrics = {
      of_rounds("rate", "B/s", Better::higher, session, [](const PairMeasured& one) { return one.slower(); }),
      of_rounds("latency", "s", Better::lower, session, [](const PairMeasured& one) { return one.latency_s; }),
      of_rounds("resent", "ratio", Better::lower, session, [](const PairMeasured& one) { return one.more_resent(); })};
  for (StoredMetric& one : results::pair_metrics(rounds_of(record, session))) point.metrics.push_back(std::move(one));
  return point;
}

std::string hosts_of(const Record& record) {
  std::string names;
  for (const NodeRecord& node : record.nodes) names += (names.empty() ? "" : " ") + node.host.name;
  return names;
}

}  // namespace

std::vector<results::StoredRun> as_runs(const Record& record, const std::string& path) {
  std::vector<results::StoredRun> runs;
  for (std::size_t number = 0; number < record.sessions.size(); ++number) {
    const SessionRecord& session = record.sessions[number];
    if (std::all_of(session.rounds.begin(), session.rounds.end(),
                    [](const RoundRecord& round) { return round.pairs.empty(); }))
      continue;
    results::StoredRun& run = runs.emplace_back();
    run.id = fmt::format("{} session {}", path, number + 1);
    run.path = path;
    run.name = run.config_file = "bringup";
    run.config_hash = fmt::format("bringup {} s {} streams", record.measuring.time_s, record.measuring.streams);
    run.version = record.headrace;
    run.started_utc = session.started_utc;
    run.elapsed_s = session.elapsed_s;
    run.summary.word = Outcome::measured;
    run.environment = {{"launch.hosts", hosts_of(record)}};
    run.node = record.nodes.front().host.name;
    run.points.push_back(point_of(record, session));
  }
  return runs;
}

std::vector<results::StoredRun> runs_in(const std::string& path) {
  std::string text;
  try {
    text = file_text(path);
  } catch (const UsageError& e) {
    throw UsageError(path + ": " + e.what());
  }
  return as_runs(record_from(text, path), path);
}

}  // namespace headrace::bringup
