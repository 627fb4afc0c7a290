// How few workers of a loader feed its GPUs, and how few batches ahead, of those that were tried, and what a framework calls that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/engine/limit_proof.h"
#include "harness/requirements/job.h"

namespace headrace {

struct LoaderTuning {
  struct Tried {
    double workers = 0;  // of each GPU
    Estimate rate;       // samples/s of all of them, GPUs taking batches as fast as they come
  };
  struct Ahead {
    double prefetch_factor = 0;
    Estimate utilization;  // of GPUs that compute, with the job's own workers
  };
  std::vector<Tried> tried;      // by workers, rising
  std::vector<Ahead> ahead;      // by prefetch_factor, rising
  double needed = 0;             // samples/s with which the GPUs are as busy as the job asks (A18)
  std::optional<double> fewest;  // workers of each GPU whose lower bound is that; none: no number that was tried
  /// With those workers: as many batches ahead of each GPU as the least that were tried whose lower bound is the job's target;
  /// none: no number that was tried, or none was.
  std::optional<double> prefetch_factor;
  double
      memory = 0,
      cores =
          0;  // with those: prefetched batches [B] (B4), 0 where none suffice; cores that decoding takes (B2), 0 = not told
  std::vector<std::string> told;  // a sentence or a setting each
};

/// What was rehearsed.
struct LoaderTrials {
  double gpus = 1;         // of the node
  double taken = 0;        // samples/s that they take when they never wait
  double own_workers = 0;  // of each GPU, with which prefetch_factors were tried
  std::vector<LoaderTuning::Tried> tried;
  std::vector<LoaderTuning::Ahead> ahead;
  double cpu_time_s = 0;  // what decoding one sample was measured to cost; 0: the job tells it, or nothing is decoded
};

LoaderTuning tune_loader(const requirements::Job& job, LoaderTrials trials);

}  // namespace headrace
