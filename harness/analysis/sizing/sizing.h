// Can the measured channel feed a planned job? Compares each phase's supply with its demand: how many GPUs that feeds,
// the limit, and what would change it. docs/reference/size-json.md describes the file (size.json).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/comparison/noise.h"
#include "harness/analysis/sizing/curve.h"
#include "harness/analysis/sizing/predictions.h"
#include "harness/job/epoch.h"
#include "harness/job/needs.h"
#include "harness/judge/verdict/verdict.h"

namespace headrace::sizing {

/// A number with the formula that gave it: id, equation, and the equation with its numbers.
struct Derived {
  std::string formula, equation, substituted;
  double value = 0;
  std::string unit;
};

/// A number and its bounds.
struct Bounded {
  double mean = 0, low = 0, high = 0;
};

struct Demand {
  double required = 0;        // B/s or 1/s of the whole job
  double need = 0;            // with the safety margin and the requirement's own uncertainty
  double per_gpu = 0;         // required by one GPU, uncertainty included
  double largest_writer = 1;  // how many times the mean the node writes that all wait for
  bool grows_with_gpus = true;
  Derived from;
};

struct Supply {
  Bounded value;  // by as many clients as the phase has nodes
  unsigned clients = 1;
  double per_client = 0;
  std::size_t repetitions = 0, sessions = 1;
  bool is_range = false;
  Basis basis = Basis::measured;
  std::string run, point, metric;
  std::vector<std::string> differs;  // the point's differences from the job's plan
  Derived from;                      // G6
};

/// One way in which the job uses storage or host.
struct Phase {
  std::string phase, title, need, unit;
  Demand demand;
  /// The nodes, and their GPUs, that supply, headroom and gpus_fed describe. All of them, or the measured ones where
  /// the growth is unknown.
  double nodes = 1, gpus = 1;
  double share = 1;    // of the job's nodes
  bool whole = true;   // all nodes of the job
  bool local = false;  // measured on disks or in memory that only the measuring node reads
  Supply supply;
  std::vector<Measurement> alternatives;  // every point that measured it, the supply's among them
  Measurement used;                       // the supply's, with the most clients
  std::optional<Curve> curve;
  Outcome outcome = Outcome::inconclusive;
  Reason reason = Reason::none;
  std::string explanation, next_step;
  Bounded headroom;
  std::optional<Bounded> gpus_fed;  // G8 of mean and bounds, where demand grows with GPUs
  Derived fed_from;

  /// The need of those nodes.
  double need_here() const;
  /// Beyond the measured numbers of nodes?
  bool is_expected() const { return supply.basis == Basis::extrapolated; }
  /// The numbers that it is then extrapolated from: "1, 2 nodes".
  std::string measured_on() const;
  /// Does it apply to the whole job? A supply that misses the need of a few nodes misses that of all.
  bool answers_job() const { return whole || outcome == Outcome::fail; }
};

/// Supply and demand over the number of GPUs, node by node. Supply, its bounds and `extrapolated` end where the growth
/// with more nodes is unknown.
struct Scaling {
  std::string phase, unit;
  double measured_to_gpus = 0;
  std::vector<double> gpus, supply, low, high, demand;
  std::vector<bool> extrapolated;
  /// Most GPUs whose demand is met; of a demand that does not grow, the fewest whose nodes give
  /// enough. Nothing when no such number is shown.
  std::optional<double> crossing;
};

struct CapacityPart {
  std::string what;
  double bytes = 0;
  Derived from;
};

struct Capacity {
  std::vector<CapacityPart> parts;
  double needed = 0;
  std::optional<double> usable, size;  // free, and of the whole file system
  Outcome outcome = Outcome::skipped;
  std::string explanation;
};

/// The cost of saving, at the interval of the job and at others.
struct Calendar {
  double interval_s = 0, save_s = 0, stall_s = 0, stall_allowed_s = 0;
  std::string stall_basis;  // the basis of stall_s
  bool async = false;
  std::optional<double> restore_s, mtbf_s, young_s, daly_s, lost, goodput;
  struct Point {
    double interval_s, stall, rework, lost;
  };
  std::vector<Point> tradeoff;
  std::optional<double> best_interval_s;
};

/// A stretch of one cycle from save to save.
struct Stretch {
  std::string what;  // compute | input_wait | checkpoint_stall | checkpoint_drain
  double from_s = 0, to_s = 0;
};

struct Starvation {
  double utilization = 1;                    // A18, the worse of the phases that feed the GPUs
  std::optional<job::WallClock> wall_clock;  // at that utilization, with the fill from the epoch's supply
  std::string phase;
  std::optional<double> price_usd_per_h, cost_usd_per_h, cost_total_usd;
  Derived from;
};

struct Fix {
  std::string fix, title, phase;
  /// The headroom that its phase has after it; nothing when it was not measured and cannot be
  /// computed. Then there is no basis either.
  std::optional<Bounded> phase_headroom;
  /// GPUs that the job has fed after it, and that its own phase has then, where it feeds GPUs.
  std::optional<Bounded> gpus_fed, phase_gpus_fed;
  bool capped = false;  // every phase has its need
  std::optional<Basis> basis;
  std::vector<std::string> set;  // its key and value, as for `size --set`; empty: no key of the job
  std::vector<std::string> built_on;
  Derived from;
  std::string command, explanation;
};

/// One input of the job varied, all else as it is.
struct Assumption {
  std::string key, unit;
  double value = 0;
  std::optional<double> flips_at;  // where the smallest headroom crosses 1
  std::vector<double> values, headroom;
};

struct NotMeasured {
  std::string phase, title, why, command;
};

struct Sizing {
  job::Job job;
  std::string job_file;
  std::vector<Session> sessions;
  Outcome word = Outcome::pass;
  std::string sentence;
  std::string samples;   // a count of a sample's stored bytes; "" = none
  std::string limiting;  // the phase with the least headroom; "capacity" when that alone is short
  int exit_code = 0;
  std::optional<NoiseFloor> noise;  // of the system that was measured first; set by the caller
  std::optional<Bounded> gpus_fed;  // nothing when no phase that feeds them was measured by all nodes
  double measured_nodes = 1;        // of the job: fewer than it has where a phase was measured by no more
  Basis basis = Basis::measured;
  std::vector<Phase> phases;  // worst first
  std::vector<Scaling> scaling;
  Capacity capacity;
  std::optional<Calendar> calendar;
  std::vector<Stretch> cycle;
  std::optional<Starvation> starvation;
  std::vector<Fix> fixes;  // largest gain first; equal ones: measured, modelled, extrapolated
  std::vector<Assumption> assumptions;
  std::vector<Derived> formulas;
  std::vector<NotMeasured> not_measured;
  std::vector<PredictionRecord> predictions;  // how good those of rehearsals among the runs were; empty: there are none
};

/// A multiple of the job's GPUs above this is reported as "more than" it.
inline constexpr double kMany = 100;

/// Sizes the job by `runs` (which must outlive the result). Throws UsageError when the runs measured nothing that the
/// job needs.
Sizing size(const job::Job& job, const std::string& job_file, std::span<const results::StoredRun> runs);

/// size.json.
std::string sizing_json(const Sizing& sizing);

}  // namespace headrace::sizing
