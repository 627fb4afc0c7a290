// The parts that a sizing is put together from; each in a file of its own.
#pragma once

#include "harness/analysis/sizing/sizing.h"
#include "harness/job/formula.h"
#include "harness/job/way.h"

namespace headrace::sizing {

/// How the measurement differs from the job.
job::Likeness likeness(const job::Job& job, const Measurement& m);

/// A computed formula as it is reported.
Derived derived(const job::Applied& applied);

/// G8: GPUs fed by `supply`, of which each needs `per_gpu`.
job::Applied gpus_fed(double supply, double per_gpu, double safety);
Bounded gpus_fed(const Bounded& supply, double per_gpu, double safety);
/// The same in words, of the lower bound: a promise, not a hope.
Derived fed_from(const Bounded& supply, double per_gpu, double safety, const std::string& unit);

/// The need of that name for the whole job (for one node, where every node has its own resources). Nothing when the job
/// has none.
struct PhaseKind {
  std::string_view phase, title, need;
  bool per_node = false;    // each node has its own
  bool feeds_gpus = false;  // GPUs wait when it falls short
  bool grows = true;        // its demand grows with the number of GPUs
};
std::span<const PhaseKind> phase_kinds();
const PhaseKind& kind_of(std::string_view phase);

/// The demand of every kind of phase that the job has; for the largest writer of ZeRO-1 and 2, too.
std::optional<Demand> demand_of(const job::Job& job, std::span<const job::Need> needs, const PhaseKind& kind);

/// The phase with its measurements (no curve: there are none); nothing when the job has no such need.
std::optional<Phase> phase_of(const job::Job& job, std::span<const job::Need> needs, const PhaseKind& kind,
                              std::span<const Session> sessions);
/// All of them, whether measured or not.
std::vector<Phase> phases_of(const job::Job& job, std::span<const job::Need> needs, std::span<const Session> sessions);

/// Fills in supply, headroom, outcome and GPUs fed from the phase's curve.
void judge_phase(const job::Job& job, Phase& phase);

/// A sentence for local storage: it grows with the nodes, as none shares it.
inline constexpr const char* kOwnStorage = " Each node with such storage of its own gets as much.";

/// Did only the measuring node's own disks or memory answer, as far as its run shows?
bool is_local(const Measurement& m);

/// The GPUs that they feed together, at most the job's. Nothing when none that feeds any was measured by all nodes.
std::optional<Bounded> gpus_fed(const job::Job& job, std::span<const Phase> phases);

/// Commands for measurements that `sizing` lacks, on the measured storage.
class Commands {
 public:
  Commands(const job::Job& job, const std::string& job_file, std::span<const Session> sessions)
      : job_(job), job_file_(job_file), sessions_(sessions) {}
  /// The points of a workload that the job's phase is measured by, or that a glob names. `cache`: the state that they
  /// must have, "" = any.
  std::string measure(std::string_view phase) const;
  std::string measure_points(const std::string& workload, const std::string& only, std::string_view cache) const;
  /// The same point again, as its run measured it.
  std::string again(const Measurement& m) const;
  /// This sizing with the job changed.
  std::string size_with(const std::vector<std::string>& set) const;

 private:
  std::string measuring(const results::StoredRun& run, const std::string& only) const;

  const job::Job& job_;
  const std::string& job_file_;
  std::span<const Session> sessions_;
};

Scaling scaling_of(const job::Job& job, const Phase& phase);
Capacity capacity_of(const job::Job& job, std::span<const Session> sessions);
std::optional<Calendar> calendar_of(const Sizing& sizing);
std::vector<Stretch> cycle_of(const Sizing& sizing);
std::optional<Starvation> starvation_of(const Sizing& sizing);
std::vector<Fix> fixes_of(const Sizing& sizing);
std::vector<Assumption> assumptions_of(const Sizing& sizing);

}  // namespace headrace::sizing
