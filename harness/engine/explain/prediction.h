// The prediction of an input pipeline from separate measurements.
#pragma once

#include <optional>
#include <string>

#include "harness/engine/explain/limit_proof.h"

namespace headrace {

/// The measured parts of a pipeline.
struct MeasuredParts {
  Estimate storage;  // samples/s that its workers read when they do nothing else
  std::optional<Estimate>
      memory{};           // that they hand over when all is in memory; none: follows from cpu_time_s and cores
  double cpu_time_s = 0;  // to decode one sample; 0 = nothing is decoded
  double cores = 0;       // that decode; 0 = not known
  double workers = 1;     // that read and decode one after the other
  double taking_s = 0;    // of a sample's part of its batch, in the GPU's own process: of a processor
  double handed = 0;      // samples/s that those processes can hand on at most; 0 = not known
  double taken = 0;       // samples/s of GPUs that never wait
};

struct Prediction {
  Estimate rate;         // samples/s that the loader gives
  Estimate utilization;  // A18: its rate over the GPUs' rate, at most 1
  std::string formula;   // by which
};

/// The loader delivers between two rates. The lower one is that of workers without overlap (A17). The upper one is that
/// of storage and cores, both busy (B2, B12). The value is in the middle. Throws job::DomainError.
Prediction predict_utilization(const MeasuredParts& parts);

}  // namespace headrace
