// The points of a rehearsal: the job's input pipeline as a whole, and counter-experiments that show which stage limits it.
#pragma once

#include <string>

#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/plan.h"

namespace headrace {

/// The labels that distinguish the points of input_pipeline in a rehearsal.
namespace rehearsal {
inline constexpr const char* kPipeline = "input_pipeline";
inline constexpr const char* kJob = "job";                       // as in the job
inline constexpr const char* kNoCheckpoint = "no-checkpoint";    // of a job that saves: it does not
inline constexpr const char* kNoStep = "no-step";                // the GPUs take batches as fast as they come
inline constexpr const char* kNoDecode = "no-decode";            // so, too, and nothing is decoded
inline constexpr const char* kInMemory = "in-memory";            // no step, and samples in memory: decoding alone
inline constexpr const char* kDoubleWorkers = "double-workers";  // no step, twice the workers
inline constexpr const char* kWorkers = "workers-";    // that many workers of each GPU follow: --tune may try them
inline constexpr const char* kGpuDecode = "job";       // of gpu_decode: the processors' work that GPUs would do
inline constexpr const char* kTier = "job";            // of local_cache: the job's tier, filled and read
inline constexpr const char* kPrefetch = "prefetch-";  // prefetch_factor follows: --tune may try it

/// The label of a point with other workers and another prefetch_factor than the job's; 0: the job's.
std::string setting_label(double workers, double prefetch_factor);
}  // namespace rehearsal

/// The points of `job` on one of its nodes, the whole pipeline first. The last one measures storage alone as `qualify`
/// does, for a prediction. For a job that saves a model of a benchmark by its rules: saves and reads alone. Throws
/// UsageError when nothing can be rehearsed with these means: no room for data, or steps that exceed the budget.
FromJob rehearsal_from_job(const job::Job& job, Means means);

/// A rehearsal judges one of the job's needs, step.target_utilization. A rehearsal of a benchmark's checkpoints judges
/// those of saves and restores.
void judge_rehearsal(Plan& plan);

}  // namespace headrace
