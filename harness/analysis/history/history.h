// One machine over time: when did a metric change, by how much, and which other things changed at that time? Rules
// H1... of docs/explanation/fleets-and-history.md; docs/reference/fleet-json.md describes the file (history.json).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/comparison/comparison.h"
#include "harness/analysis/comparison/noise.h"
#include "harness/judge/statistics/change_points.h"
#include "harness/results/run_file.h"

namespace headrace::history {

/// Beyond that many robust deviations of the last that many runs of its level, the newest is unusual.
inline constexpr double kUnusual = 4;
inline constexpr std::size_t kRecent = 40;

struct Run {
  std::string run, path, node, started_utc, config_hash;
  Outcome word = Outcome::measured;
  std::vector<std::string> events;  // the differences from the run before it: "kernel.release 6.1 -> 6.5"
};

struct Level {
  std::size_t from = 0, to = 0;  // indices of the series; `to` is one past the last
  double median = 0;
};

enum class Direction { worse, better, differs };
std::string_view to_string(Direction direction);

struct Change {
  std::size_t at = 0;  // first index of the new level
  double before = 0, after = 0, p = 1;
  Direction direction = Direction::differs;
  bool certain = true;              // neither a drift nor, perhaps, a chance order of two levels
  std::vector<std::string> events;  // of the run that it begins with
  std::string explanation;

  /// As a share; nothing where the level before was 0.
  std::optional<double> change() const { return before == 0 ? std::nullopt : std::optional(after / before - 1); }
};

/// Two levels between which the newest runs go to and fro.
struct TwoLevels {
  double lower = 0, upper = 0;  // medians
  std::size_t at_lower = 0, at_upper = 0;
  std::string explanation;
};

/// A run that is no part of the levels, and why: "missing", "zero", "cache-unproven", "disturbed", "names-in-memory".
/// The last is for cold files where only other runs dropped names.
struct LeftOut {
  std::size_t run = 0;
  std::string why;
  std::optional<double> median;
};

struct Newest {
  bool unusual = false;
  std::string left_out_for;  // why the newest run is no part of the levels; "" = it is
  double z = 0;
  Direction direction = Direction::differs;
  std::string explanation;
};

/// One metric of one point on one node, or cluster, with one configuration.
struct Series {
  std::string node, config_hash, workload, point, metric, unit, description;
  std::map<std::string, std::string> params;
  Better better = Better::higher;
  bool fact = false;  // read, not measured
  double delta = 0;
  std::vector<std::size_t> run;  // indices of the runs that make the levels
  /// The value of each (results::value_of()), and the bounds of its median, as far as they include that.
  std::vector<double> value, low, high;
  std::vector<LeftOut> left_out;  // in order of time
  std::vector<Level> levels;
  std::vector<Change> changes;
  std::optional<TwoLevels> two_levels;
  Newest newest;
  double correlation = 0;   // of neighbours within the levels
  bool wanders = false;     // so that its changes may be none
  bool gone = false;        // the last three runs or more gave 0
  bool superseded = false;  // by runs of the same configuration file, changed
  std::string why;          // why nothing was judged

  /// Its certain end.
  bool worse() const;
};

/// Fewer nodes that change at once may do so by chance.
inline constexpr std::size_t kFewestTogether = 3;

/// A change of most nodes at one time, `of` all that could show.
struct Together {
  std::string point, metric;
  Direction direction = Direction::differs;
  double change = 0;  // of the middle one, as a share
  std::vector<std::string> nodes;
  std::size_t of = 0;
  std::string from, to;  // between these times
  std::string explanation;
};

struct History {
  std::vector<Run> runs;                                        // by node, then time
  std::vector<Series> series;                                   // changed ones first
  std::vector<Together> together;                               // of most nodes first
  std::vector<std::pair<std::string, std::string>> unreadable;  // path and why
  std::size_t too_short = 0, changes = 0, unusual = 0;
  std::size_t missing = 0,
              left_out = 0;  // series that the newest run has no value, or no proven one, for
  Outcome word = Outcome::pass;
  std::string sentence;
  int exit_code = 0;
  std::optional<NoiseFloor> noise;  // of the system of the newest run; set by the caller
};

struct Options {
  results::MetricFilter metrics;                                                    // that are followed
  double delta_rate = statistics::kDeltaRate, delta_tail = statistics::kDeltaTail;  // smaller changes are none
};

/// Throws UsageError when no run has a metric that is followed.
History judge(std::vector<results::StoredRun> runs, const Options& options,
              std::vector<std::pair<std::string, std::string>> unreadable = {});

/// Changes that most nodes (3 or more) have in common.
std::vector<Together> changes_together(const std::vector<Series>& series, const std::vector<Run>& runs);

std::string history_json(const History& history);
/// A line per run of each series:
/// node,started_utc,run,point,metric,unit,median,low,high,level,status.
std::string history_csv(const History& history);

}  // namespace headrace::history
