// A run's records of its points, as judgements need them: the content of run.json, without the state of the
// measurement.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/statistics/steady.h"
#include "harness/judge/statistics/summary.h"
#include "harness/judge/verdict/verdict.h"
#include "harness/record/cache_state.h"
#include "harness/record/fault_counts.h"
#include "harness/record/metric.h"
#include "harness/record/pair_matrix.h"
#include "harness/record/params.h"
#include "harness/record/ranks/rank_groups.h"

namespace headrace {

enum class PointStatus { ok, skipped, error, interrupted, not_reached };

namespace judging {

/// The beginning of the reason of a point that --budget left no time for.
inline constexpr std::string_view kBudgetSpent = "--budget of ";

/// One repetition.
struct RecordedRepetition {
  unsigned look = 0;    // in whose batch it was taken; one past the last look: taken again after a FAIL
  bool counted = true;  // its values are among those that are judged
  bool ok = true;       // it went through
  std::map<std::string, double> metrics;
  double elapsed_s = 0;                   // of all phases
  std::map<std::string, double> seconds;  // of rates of one phase of several, that one's time
  bool is_evidence = true;                // CacheProof::is_evidence(); false: it may have measured another cache state
  std::string state_why;                  // the proof of its cache state, or why there is none
  std::string warm_names;                 // CacheProof::warm_names
  bool disturbed = false, steady = true;
  std::string disturbed_why, steady_why;
  std::optional<PairMatrix> pairs;  // of workloads that measure pairs
};

/// One point.
struct RecordedPoint {
  std::string id, workload;
  std::map<std::string, ParamValue> params;
  CacheState cache = CacheState::asis;
  PointStatus status = PointStatus::not_reached;
  std::string reason;                             // why skipped or failed
  std::vector<std::string> unproven;              // the job's questions that its data leave open; a sentence each
  std::map<std::string, std::uint64_t> left_out;  // files of the user's data set, by why
  statistics::LookPlan looks;
  bool deterministic = false;  // one value is its own bound
  bool adds = true;            // of several nodes that measured together, each gave its share
  unsigned nodes = 1;          // that took part
  unsigned processes = 1;      // on all of them together
  std::optional<GroupShape> group;
  std::vector<std::string> too_few_operations;              // percentiles with fewer than 10/(1-p) per repetition
  std::map<std::string, std::string> missing;               // metrics that the machine did not let it report, and why
  std::map<std::string, statistics::SingleRun> single_run;  // rule 19, by unit: one long single repetition
  bool measured_again = false;                              // after a FAIL and a rest
  std::vector<RecordedRepetition> repetitions;
  std::vector<PartFault> faults;  // of parts of the machine, of all repetitions, preparing and verifying

  /// A metric's values, of the repetitions that count.
  std::vector<double> values(std::string_view metric) const;
  /// The share of the repetitions that count whose cache state is unproven.
  double unproven_share() const;
};

/// The repetitions' values of `metric`, in `unit`, each value divided by `shares`. The chance of an error is shared out
/// among `choices` points that could answer.
Evidence gather(const RecordedPoint& point, const std::string& metric, std::string_view unit, double shares,
                unsigned choices);

}  // namespace judging
}  // namespace headrace
