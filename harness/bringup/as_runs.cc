#include "harness/bringup/as_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/diagnostics.h"
#include "harness/base/file_text.h"
#include "harness/bringup/rails.h"
#include "harness/results/pair_metrics.h"

namespace headrace::bringup {
namespace {

using results::RatedPairs;
using results::StoredMetric;

/// The report about pairs, by TCP and by RDMA.
struct OfPairs {
  const char *by_tcp, *by_rdma, *unit;
  Better better;
  double (*value)(const PairMeasured&);
};
constexpr std::array kOfPairs{
    OfPairs{"rate", "rdma_rate", "B/s", Better::higher, [](const PairMeasured& one) { return one.slower(); }},
    OfPairs{"latency", "rdma_latency", "s", Better::lower, [](const PairMeasured& one) { return one.latency_s; }},
    OfPairs{"resent", "rdma_resent", "ratio", Better::lower,
            [](const PairMeasured& one) { return one.more_resent(); }}};

/// The metric of the middle pair of each round.
StoredMetric of_rounds(const OfPairs& of, bool by_rdma, const Record& record, const SessionRecord& session) {
  StoredMetric one;
  one.name = by_rdma ? of.by_rdma : of.by_tcp;
  one.unit = of.unit;
  one.better = of.better;
  for (const RoundRecord& round : session.rounds) {
    StoredMetric of_round;
    for (const PairMeasured& pair : round.pairs)
      if (is_rdma(record, pair.rail) == by_rdma) of_round.values.push_back(of.value(pair));
    if (of_round.values.empty()) continue;
    results::summarize_range(of_round);
    one.values.push_back(of_round.median);
  }
  if (!one.values.empty()) results::summarize_range(one);
  return one;
}

/// The pairs of each round, over each rail: a round is a repetition.
std::vector<RatedPairs> rounds_of(const Record& record, const SessionRecord& session) {
  const unsigned by_tcp = tcp_rails(record);
  unsigned count = by_tcp;
  for (const RoundRecord& round : session.rounds)
    for (const PairMeasured& one : round.pairs) count = std::max(count, one.rail + 1);
  // The name of a rail by TCP does not depend on other measurements.
  const auto name = [&](unsigned node, unsigned rail) {
    return rail == 0 && by_tcp == 1 ? record.nodes[node].host.name : end_name(record, node, rail);
  };
  std::vector<RatedPairs> all;
  for (const RoundRecord& round : session.rounds)
    for (unsigned rail = 0; rail < count; ++rail) {
      RatedPairs& met = all.emplace_back();
      if (rail < record.usual_rate.size()) met.usual = record.usual_rate[rail];
      for (unsigned node = 0; node < record.nodes.size(); ++node) met.names.push_back(name(node, rail));
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
  for (const bool by_rdma : {false, true})
    for (const OfPairs& of : kOfPairs)
      if (StoredMetric one = of_rounds(of, by_rdma, record, session); !one.values.empty())
        point.metrics.push_back(std::move(one));
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
