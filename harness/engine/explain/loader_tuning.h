// How few workers of a loader feed its GPUs, and how few batches ahead: which numbers to try, what follows from those that
// were, and what a framework calls them.
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
  /// The answer, the setting as a framework has it where there is one, and what was not tried: a sentence or line each.
  std::vector<std::string> reported;
};

/// What was rehearsed, and what could be.
struct LoaderTrials {
  double gpus = 1;                        // of the node
  double taken = 0;                       // samples/s that they take when they never wait
  std::optional<TriedLoader> own;         // the job's setting; none: it was not measured
  std::vector<TriedLoader> others;        // any other settings
  std::vector<double> workers, prefetch;  // that can be tried beside the job's, rising
  double busy_share = 0;                  // of the time of the job's workers: they read or decode; 0 = not known
  double cpu_time_s = 0;             // what decoding one sample was measured to cost; 0: the job reports it, or none is
  double alone = 0;                  // samples/s of the job's own workers when nothing computes; 0: not measured
  bool client_cache_unseen = false;  // no counter proves that what was tried came from storage
};

/// The number of workers that decides the most: the fewest that can be enough by what is known (of twice the workers no more
/// than twice the rate is had), then the next smaller one. None: all is decided, more workers gain nothing, or more batches
/// ahead come first, as the job's workers are fast enough on average.
std::optional<double> next_workers(const LoaderTrials& trials, double target);

struct LoaderSetting {
  double workers = 0, prefetch_factor = 0;
};

/// Then batches ahead. More of them where workers are fast enough on average and miss the target: the job's own, or one fewer
/// than reach it. Fewer with the workers that reach it.
std::optional<LoaderSetting> next_prefetch(const LoaderTrials& trials, double target);

LoaderTuning tune_loader(const job::Job& job, const LoaderTrials& trials);

}  // namespace headrace
