// How few workers of a loader feed its GPUs, of those that were tried, and what a framework calls that.
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
  std::vector<Tried> tried;      // by workers, rising
  double needed = 0;             // samples/s with which the GPUs are as busy as the job asks (A18)
  std::optional<double> fewest;  // workers of each GPU whose lower bound is that; none: no number that was tried
  double memory = 0,
         cores = 0;  // with those: prefetched batches [B] (B4); cores that decoding takes (B2), 0 = not told
  std::vector<std::string> told;  // a sentence or a setting each
};

/// `gpus` of the node, that take `taken` samples/s when they never wait. `cpu_time_s`: what decoding one sample was measured
/// to cost [s]; 0: the job tells it, or nothing is decoded.
LoaderTuning tune_loader(const requirements::Job& job, double gpus, double taken,
                         std::vector<LoaderTuning::Tried> tried, double cpu_time_s = 0);

}  // namespace headrace
