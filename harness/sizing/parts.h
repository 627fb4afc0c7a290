// The parts that a sizing is put together from; each in a file of its own.
#pragma once

#include "harness/requirements/formula.h"
#include "harness/sizing/sizing.h"

namespace headrace::sizing {

/// A computed formula as it is told.
Derived derived(const requirements::Applied& applied);

/// G8: GPUs fed by `supply`, of which each needs `per_gpu`.
requirements::Applied gpus_fed(double supply, double per_gpu, double safety);
Bounded gpus_fed(const Bounded& supply, double per_gpu, double safety);
/// The same in words, of the lower bound: a promise, not a hope.
Derived fed_from(const Bounded& supply, double per_gpu, double safety, const std::string& unit);

/// The need of that name for the whole job (of a node, for what every node has of its own); nothing
/// when the job has none.
struct PhaseKind {
  std::string_view phase, title, need;
  bool per_node = false;    // each node has its own
  bool feeds_gpus = false;  // GPUs wait when it falls short
  bool grows = true;        // its demand grows with the number of GPUs
};
std::span<const PhaseKind> phase_kinds();
const PhaseKind& kind_of(std::string_view phase);

/// The demand of every kind of phase that the job has; for the largest writer of ZeRO-1 and 2, too.
std::optional<Demand> demand_of(const requirements::Job& job,
                                std::span<const requirements::Need> needs, const PhaseKind& kind);

/// The phase with what was measured of it; nothing when nothing was.
std::optional<Phase> phase_of(const requirements::Job& job,
                              std::span<const requirements::Need> needs, const PhaseKind& kind,
                              std::span<const Session> sessions);

/// Fills in supply, headroom, outcome and GPUs fed from what was measured at `used`'s point.
void judge_phase(const requirements::Job& job, Phase& phase);

/// A command that measures the points that a glob names, or those of a phase of the job.
std::string command_for(std::string_view only, const std::string& job_file);
std::string command_for(const requirements::Job& job, std::string_view phase,
                        const std::string& job_file);

Scaling scaling_of(const requirements::Job& job, const Phase& phase);
Capacity capacity_of(const requirements::Job& job, std::span<const Session> sessions);
std::optional<Calendar> calendar_of(const Sizing& sizing);
std::vector<Stretch> cycle_of(const Sizing& sizing);
std::optional<Starvation> starvation_of(const Sizing& sizing);
std::vector<Fix> fixes_of(const Sizing& sizing);
std::vector<Assumption> assumptions_of(const Sizing& sizing);

}  // namespace headrace::sizing
