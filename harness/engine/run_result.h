// The whole result of a run in memory: what result writers write and the summary prints.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/version.h"
#include "harness/engine/explain/collective_fit.h"
#include "harness/engine/explain/limit_proof.h"
#include "harness/engine/explain/loader_tuning.h"
#include "harness/engine/explain/prediction.h"
#include "harness/engine/explain/scaling.h"
#include "harness/engine/plan/benchmark/rules.h"
#include "harness/engine/plan/plan.h"
#include "harness/job/epoch.h"
#include "harness/judge/expectations/hold.h"
#include "harness/judge/statistics/summary.h"
#include "harness/judge/verdict/answers.h"
#include "harness/judge/verdict/verdict.h"
#include "harness/machine/examine/fingerprint.h"
#include "harness/record/data_report.h"
#include "harness/record/facts.h"
#include "harness/record/metric_summary.h"
#include "harness/record/noise_floor.h"
#include "harness/record/pair_matrix.h"
#include "harness/record/pipeline_trace.h"
#include "harness/record/ranks/rank_groups.h"
#include "harness/record/repetition.h"

namespace headrace {

/// Free memory that was touched before a point. So the page cache grows into memory that the hypervisor has already
/// given.
struct FirstTouch {
  std::uint64_t needed_bytes = 0;   // the bytes that the point will put into the page cache
  std::uint64_t touched_bytes = 0;  // 0: not on a virtual machine, nothing needed, or done before
  double elapsed_s = 0;
};

/// The rank that was the slowest more often than any other.
struct SlowestRank {
  unsigned rank = 0;
  std::string host;
  unsigned times = 0, of = 0;  // phases of the repetitions that count
};

struct PointResult {
  const Point* point = nullptr;
  PointStatus status = PointStatus::not_reached;
  std::string reason;          // why skipped or failed
  statistics::LookPlan looks;  // when it was looked at the repetitions, and the ranks that bound them
  std::vector<Repetition> repetitions;
  std::vector<MetricSummary> metrics;
  // The workload's facts, reported while it lives.
  bool deterministic = false;
  AcrossRanks across_ranks = AcrossRanks::add;
  unsigned workers = 1;
  std::vector<std::string> latency_parts;
  std::map<std::string, std::string> missing;               // metrics that this machine did not let it report, and why
  std::map<std::string, statistics::SingleRun> single_run;  // by unit, of one long single repetition
  bool measured_again = false;                              // after a FAIL and a rest
  std::vector<std::string> notes;                           // fall-backs taken
  std::vector<std::string> unproven;                        // the job's questions that its data leave open
  Facts facts;                                              // how it was done, by name
  std::optional<GroupShape> group;                          // of collectives
  std::vector<std::pair<std::string, std::uint64_t>> left_out;  // of the user's data set
  std::vector<WrongBlock> wrong_blocks;
  std::vector<PartFault> faults;               // found before or after the repetitions, which have their own
  std::vector<StageSpan> stages;               // a stretch of the last repetition that counts, of a pipeline
  std::shared_ptr<const PipelineTrace> trace;  // the same of an input pipeline
  bool verified = false;
  FirstTouch first_touch;
  unsigned nodes = 1;               // that took part
  unsigned processes = 1;           // on all of them together
  std::optional<PairMatrix> pairs;  // the medians of the counted repetitions, and the blamed parts
  Blame blame;
  std::optional<SlowestRank> slowest;  // of several ranks
  double elapsed_s = 0;
};
/// The median of the metric of that name; 0: it has none.
inline double median_of(const PointResult& point, std::string_view metric) {
  for (const MetricSummary& m : point.metrics)
    if (m.name == metric) return m.median;
  return 0;
}

/// The cost of a job's checkpoints in its rehearsal.
struct RehearsedSaves {
  Estimate without;  // utilization of the same pipeline that saves nothing
  bool async = false;
  double count = 0;      // saves of a repetition that became durable
  double standing = 0;   // share of the time in which the GPUs waited for them
  double durable_s = 0;  // from the begin of a save until it is durable
  bool decides = false;  // with them the utilization is too low, without them it is not
};

/// Several nodes that were rehearsed together, each step ending when the slowest one's has.
struct RehearsedNodes {
  unsigned count = 0;
  double of_job = 0;                   // nodes that the job has
  std::optional<SlowestRank> slowest;  // that waited least for the others, in how many repetitions
  double least = 0;                    // share of the time in which it did
  double others = 0;                   // share in which the others waited, their mean
  bool holds_back = false;             // it is the same one again and again, and the others wait for it noticeably
};

/// The rates of a job's local cache: epochs straight from storage, filling it, and out of it. Samples/s of all nodes.
struct RehearsedTier {
  double storage = 0, filling = 0, cached = 0;
  std::optional<double> hits, hits_predicted;  // shares of the bytes; the latter by C5
  std::optional<double> pays_after,
      staged_pays_after;  // epochs (C11): filled in the first one, or before the run (C10)
};

/// The decoding work that this node's GPUs would take off its processors.
struct DecodingOnGpus {
  double image_rate = 0;  // of the node [1/s]
  double cpu_time_s = 0;  // of a processor, for one image
};

/// The result of a rehearsal of a job's input pipeline.
struct Rehearsal {
  std::string point;                      // the whole pipeline
  Estimate utilization;                   // of the accelerators (A21)
  double stall = 0, host = 0, ready = 0;  // as in input_pipeline's metrics
  std::optional<double> copies;           // copy_fraction, where batches were copied to GPUs
  std::optional<double>
      decode_headroom;                // where headrace's own decoder replaces the job's: how much slower that may be
  std::string calibration;            // how the time of the job's decoder was measured; "" = it was not
  std::string by_times;               // the stage that where its time went names
  std::vector<std::string> not_cold;  // points of which it is not proven that they read from storage alone
  LoaderRates rates;                  // of the counter-experiments
  LimitProof proof;
  std::string predicted_from;                // the point that measured storage alone
  Estimate storage_alone;                    // samples/s
  std::optional<Prediction> predicted;       // empty: storage alone was not measured
  std::optional<double> error;               // predicted less rehearsed utilization
  std::optional<job::WallClock> wall_clock;  // of an epoch that begins with the wait for the first step
  std::string grade;                         // of the prediction: "close", "within its interval", "off"
  struct StageError {
    std::string stage;
    double predicted = 0, rehearsed = 0, error = 0;  // samples/s; a ratio
  };
  std::vector<StageError> stage_errors;
  std::optional<LoaderTuning> tuning;
  std::optional<RehearsedSaves> saves;  // of a job that saves
  std::optional<RehearsedNodes> nodes;  // of several
  std::optional<RehearsedTier> tier;    // of a job with a local cache
  std::optional<DecodingOnGpus> on_gpus;
  double stalled = 0,
         longest_s = 0;  // samples of all repetitions that storage stalled for, and the longest wait for one
};

/// A benchmark's checkpoints as it reports them: means over all of them, each by its slowest rank. Bytes of all ranks.
struct BenchmarkSaves {
  unsigned count = 0;
  double each_s = 0, bytes_per_s = 0;
};

/// A rehearsal that was compared with a benchmark's rules.
struct HeldRules {
  std::string name;                            // "mlperf-v2"
  std::vector<RuleCheck> checks;               // each of them
  std::optional<BenchmarkSaves> saves, reads;  // where it was rehearsed by its checkpoints
};

/// The program that measured.
struct Build {
  std::string version = kVersion, revision = kRevision, compiler = kCompiler, type = kBuildType,
              sanitizers = kSanitizers;
};

struct RunResult {
  const Plan* plan = nullptr;
  Build build;
  std::string run_id;
  std::string started_utc;  // "2026-01-31T12:00:00Z"
  double elapsed_s = 0;
  std::vector<std::string> command;
  Fingerprint environment;
  std::optional<NoiseFloor> noise;
  std::vector<PointResult> points;
  std::vector<CollectiveCurve> collectives;  // fitted to points of several sizes
  std::vector<judging::Question> questions;
  std::vector<Judgement> judgements;
  std::vector<ScalingCurve> scaling;
  std::optional<Rehearsal> rehearsal;
  std::optional<HeldRules> rules;
  std::vector<expectations::Part> parts;         // of this machine
  std::vector<expectations::Expected> expected;  // figures compared with those of sound hardware
  Summary summary;
  std::string lost;      // which other process of the run ended too early; "" = none
  std::string unstored;  // "the results were lost", as on a full disk; "" = all files were written
  int signal = 0;        // SIGINT or SIGTERM that ended it
};

}  // namespace headrace
