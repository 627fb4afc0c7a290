// Shared by collecting and judging.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "harness/analysis/fleet/fleet.h"
#include "harness/results/metric_key.h"

namespace headrace::fleet {

/// One value of a run.
struct RunValue {
  std::size_t metric = 0;
  double value = 0;
  std::string_view left_out_for;  // why it is no evidence of the usual; "" = it counts
};

/// The kept part of a run.
struct NodeRun {
  std::string node, run, path, started_utc, config_file;
  std::string measuring_command;  // of the same points
  Outcome word = Outcome::measured;
  double began_s = 0, ended_s = 0;                     // 0: not reported
  std::string hardware;                                // the key of its group; lines of "key value", without the memory
  std::string memory;                                  // "251.4 GiB"
  std::vector<std::pair<std::string, Outcome>> needs;  // which, and the outcome
  std::optional<NoiseFloor> noise;
  std::vector<RunValue> values;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> facts;  // of the fingerprint: texts
};

/// A matrix of pairs as a run reported it.
struct RunPairs {
  results::PointKey key;
  std::string workload, point, run, path, started_utc;
  double began_s = 0, ended_s = 0;
  PairMatrix matrix;
  std::vector<std::string> slow_parts;  // that its run failed for: PairFinding::part
};

struct Collector::State {
  State(results::MetricFilter asked, double rate, double tail)
      : metrics_asked(std::move(asked)), delta_rate(rate), delta_tail(tail) {}

  results::MetricFilter metrics_asked;
  double delta_rate, delta_tail;
  std::mutex mutex;
  std::map<results::MetricKey, std::size_t> index;
  std::vector<ComparedMetric> metrics;
  std::vector<NodeRun> runs;
  std::vector<RunPairs> pairs;
  std::unordered_map<std::string, std::uint32_t> text_index;
  std::vector<std::string> texts;

  std::uint32_t text(const std::string& text);
};

/// Began at the same second, or ran at the same time: no two sessions. A copy of a run is itself.
template <class Run>
bool same_session(const Run& a, const Run& b) {
  if (a.started_utc == b.started_utc) return true;
  return a.began_s + 1 <= b.ended_s && b.began_s + 1 <= a.ended_s;  // times are reported by the second
}

/// The value of a session of a node for a metric.
struct Sample {
  double value = 0;
  const NodeRun* run = nullptr;
};

/// A fleet while it is judged.
struct Work {
  Collector::State& collected;
  const Options& options;
  Fleet fleet;
  std::vector<std::vector<const NodeRun*>> runs;          // of each node, newest first, no copies
  std::vector<std::vector<std::vector<Sample>>> samples;  // [node][metric]: newest session first

  const NodeRun& newest(std::size_t node) const { return *runs[node].front(); }
};

/// A node's value of one metric, and that of the session before, of the same hardware.
struct Valued {
  std::size_t node = 0;
  double value = 0;
  std::optional<double> again;
  const NodeRun* again_run = nullptr;
};

/// Sets the nodes, with their values and their own words.
void make_nodes(Work& work);
/// Sets the groups of like hardware. After make_nodes().
void make_groups(Work& work);
/// Are these of the same group, by hardware and by memory within a hundredth?
bool alike(const NodeRun& a, const NodeRun& b);
/// Names nodes that did not report, and missing values. After make_groups().
void name_missing(Work& work);
/// Judges each metric within each group, and the groups themselves.
void judge_values(Work& work);
/// Judges the newest matrices.
std::vector<JudgedPairs> judge_pairs(const std::vector<RunPairs>& reported);

/// How much worse than the usual, as a share: positive is worse.
double worse_by(const ComparedMetric& key, double value, double usual);

/// "-20 %"; "away" where there is no usual to be a share of.
std::string shift_text(const GroupEffect& effect);

double median_of(const std::vector<Valued>& having);

/// A deviation that these nodes share. Their middle is delta and 3.5 standard errors on the bad side of the rest.
/// Confirmed or passing by their other sessions. Without words.
std::optional<GroupEffect> effect_of(const ComparedMetric& key, std::size_t metric, const std::vector<Valued>& slow,
                                     const std::vector<Valued>& rest);

/// Racks, switches... of which these nodes are worse together by this metric. Each node counts for
/// one attribute only: the one that explains most.
std::vector<GroupEffect> place_effects(const Work& work, std::size_t metric, const std::vector<Valued>& having);
/// The worse of two humps, where there are two; with its cause, if there is one.
std::optional<GroupEffect> hump_effect(const Work& work, std::size_t metric, const std::vector<Valued>& having);
/// A common loss of more than half of these nodes, and eight or more, since their session before. Of no node.
std::optional<GroupEffect> change_of_all(const ComparedMetric& key, std::size_t metric,
                                         const std::vector<Valued>& having);
/// Groups of the same hardware that is set up otherwise, worse than the largest one or the other way around. And the
/// shift of every judged group from the largest.
void compare_groups(Work& work, std::size_t metric, const std::vector<std::vector<Valued>>& of_groups);

/// The noise of the nodes whose run reports a noise floor; nothing when none does.
std::optional<NodeNoise> noise_of(const std::vector<const NodeRun*>& newest);

}  // namespace headrace::fleet
