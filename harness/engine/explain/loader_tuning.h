// The fewest workers of a loader that feed its GPUs, and the fewest batches ahead. Which numbers to try, the
// conclusions, and a framework's names for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/engine/explain/limit_proof.h"
#include "harness/job/job.h"

namespace headrace {

/// A setting of the loader, with which the whole pipeline was rehearsed, steps and all.
struct TriedLoader {
  double workers = 0, prefetch_factor = 0;  // of each GPU; of each worker
  Estimate utilization;                     // of the GPUs
  double rate = 0;                          // samples/s of the node
};

struct LoaderTuning {
  std::vector<TriedLoader> tried;      // by workers, then prefetch_factor
  double target = 0;                   // utilization that the job asks for
  std::optional<TriedLoader> advised;  // the least that was tried whose lower bound reaches it; none: none does
  double memory = 0;                   // prefetched batches with it [B] (B4)
  double cores = 0;                    // that decoding takes (B2); 0 = not known
  /// The answer, the framework's setting where there is one, and untried settings: a sentence or line each.
  std::vector<std::string> reported;
};

/// The rehearsed settings, and the possible ones.
struct LoaderTrials {
  double gpus = 1;                        // of the node
  double taken = 0;                       // samples/s that they take when they never wait
  std::optional<TriedLoader> own;         // the job's setting; none: it was not measured
  std::vector<TriedLoader> others;        // any other settings
  std::vector<double> workers, prefetch;  // that can be tried in addition to the job's, rising
  double busy_share = 0;                  // of the time of the job's workers: they read or decode; 0 = not known
  double cpu_time_s = 0;                  // the measured time to decode a sample; 0: by the job, or not decoded
  double alone = 0;                       // samples/s of the job's own workers when nothing computes; 0: not measured
  bool client_cache_unseen = false;       // no counter proves that the tried batches came from storage
};

/// The number of workers that decides the most. It is the fewest that can be enough, then the next smaller one. Twice
/// the workers give at most twice the rate. None: all is decided, more workers gain nothing, or the batches ahead come
/// first. The last is so where the job's workers are fast enough on average.
std::optional<double> next_workers(const LoaderTrials& trials, double target);

struct LoaderSetting {
  double workers = 0, prefetch_factor = 0;
};

/// Then batches ahead. More batches ahead, where workers are fast enough on average and miss the target. The workers
/// are the job's, or one fewer than needed. Fewer with the workers that reach it.
std::optional<LoaderSetting> next_prefetch(const LoaderTrials& trials, double target);

LoaderTuning tune_loader(const job::Job& job, const LoaderTrials& trials);

}  // namespace headrace
