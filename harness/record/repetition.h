// The result of one repetition: numbers per phase, the proof of its cache state, its disturbances.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/cache_state.h"
#include "harness/record/client_calls.h"
#include "harness/record/fault_counts.h"
#include "harness/record/histogram.h"
#include "harness/record/metric.h"
#include "harness/record/pair_matrix.h"
#include "harness/record/recorder.h"

namespace headrace {

/// One interval of the time series, all workers together.
struct SeriesPoint {
  double time_s = 0;  // middle of the interval, from the phase's start
  double bytes_per_s = 0;
  double operations_per_s = 0;
  double latency_p99_ns = 0;  // within 6 %
};

/// How the values of several ranks make one.
enum class AcrossRanks {
  add,      // each does its share: rates are all that was done over the slowest rank's time, others the worst rank's
  slowest,  // all do one thing together: the worst rank's value
  first,    // the first rank of the team knows it all
};

/// The work of a phase's background workers (Workload::background_workers()), all together. Times are from the phase's
/// start.
struct BackgroundResult {
  double begin_s = 0;  // the first of them that did anything
  double end_s = 0;    // the last
  std::uint64_t bytes = 0;
  std::uint64_t operations = 0;
  std::uint64_t errors = 0;
  Histogram latency;
  std::vector<SeriesPoint> series;
};

/// The work of one rank of several in a phase.
struct RankPhase {
  unsigned rank = 0;
  double elapsed_s = 0, first_finish_s = 0;
  std::uint64_t bytes = 0, operations = 0, errors = 0;
};

/// The required form of a phase's rate.
enum class Level : std::uint8_t {
  any,      // it changes, and the change is measured
  no_fall,  // it may become faster: a first pass over a data set
  level,
};

/// One phase of one repetition, all workers together, but for those in the background. Of several ranks: bytes and
/// operations of all, the slowest one's time.
struct PhaseResult {
  std::string name;
  double elapsed_s = 0;       // first submit to last completion
  double first_finish_s = 0;  // when the first worker was done
  double cpu_s = 0;           // user + system time of the process in this time
  std::uint64_t bytes = 0;
  std::uint64_t operations = 0;
  std::uint64_t errors = 0;
  std::uint64_t storage_bytes = 0;  // /proc/self/io read_bytes in this time
  std::uint64_t device_bytes = 0;   // block device read counter in this time; 0 when unknown
  Histogram latency;
  std::vector<Histogram> parts;  // as Workload::latency_parts()
  std::vector<double> worker_finish_s;
  std::vector<std::uint64_t> worker_bytes;
  std::vector<SeriesPoint> series;
  double steady_from_s = 0;     // warm-up cut (rule 11); 0 = nothing cut
  std::uint64_t cut_bytes = 0;  // finished before it
  std::uint64_t cut_operations = 0;
  Level must_be = Level::any;
  std::string not_steady;                      // why it was not like that, or ""
  std::optional<BackgroundResult> background;  // when any of them did anything
  std::vector<RankPhase> ranks;                // where there are several
  int slowest_rank = -1;                       // of those that did anything, the lowest rate
  std::vector<SeriesPoint> slowest_series;     // its own

  /// The time after the warm-up cut, and the rates of operations that finished in it.
  double steady_s() const { return elapsed_s - steady_from_s; }
  double bytes_per_s() const { return steady_s() > 0 ? static_cast<double>(bytes - cut_bytes) / steady_s() : 0; }
  double operations_per_s() const {
    return steady_s() > 0 ? static_cast<double>(operations - cut_operations) / steady_s() : 0;
  }
};

/// How long all phases took together.
inline double elapsed_of(const std::vector<PhaseResult>& phases) {
  double s = 0;
  for (const PhaseResult& phase : phases) s += phase.elapsed_s;
  return s;
}

/// One item of work in one stage of a pipeline.
struct StageSpan {
  std::uint32_t item = 0;  // 0, 1, 2 ... in the order in which they came through
  std::string stage;       // "read"
  double begin_s = 0;      // from the begin of the first
  double end_s = 0;
};

/// Other work of the machine in this time (rule 14): rates as shares of the elapsed time.
struct Disturbance {
  std::uint64_t foreign_bytes = 0;  // device bytes that this process did not cause
  double cpu_steal = 0;             // share of all CPU time, 0..1
  double io_pressure = -1;          // PSI "some" io, share of time; -1 = kernel does not report
  double cpu_pressure = -1;
  double memory_pressure = -1;
  double throttled_s = 0;       // processor time that the control group's quota withheld
  double foreign_cpu = 0;       // share of all CPU time that other programs took, 0..1
  double probe_before_ns = -1;  // the control probe: fixed work, lower is better; -1 = not taken
  double probe_after_ns = -1;
  bool disturbed = false;
  std::string why;  // "foreign I/O 6 % of the test's bytes"
};

enum class RepetitionStatus { ok, error, interrupted };

struct Repetition {
  unsigned index = 0;
  unsigned look = 0;    // in which look's batch it was taken; one past the last look: the re-run after a FAIL
  bool counted = true;  // its values are among those summarized; false: failed, replaced (disturbed), or re-run
  RepetitionStatus status = RepetitionStatus::ok;
  std::string error;  // first error in words: operation, file, offset, errno text, how many
  std::vector<PhaseResult> phases;
  std::vector<MetricValue> metrics;
  CacheProof cache;
  ClientCalls client;  // while phases ran; of several ranks, the leading one's
  Disturbance disturbance;
  bool steady = true;  // rule 11
  std::string steady_why;
  std::optional<PairMatrix> pairs;  // of workloads that measure pairs
  std::vector<PartFault> faults;    // whatever became of it
  /// When the first phase began and the last one ended, by the node's clock: seconds since 1970; 0 = none began. Shows
  /// whether other nodes' runs measured at the same time.
  double began_unix_s = 0, ended_unix_s = 0;
};

}  // namespace headrace
