// What separate measurements predict of an input pipeline.
#pragma once

#include <optional>
#include <string>

#include "harness/engine/explain/limit_proof.h"

namespace headrace {

/// What the parts of a pipeline were found to be.
struct MeasuredParts {
  Estimate storage;  // samples/s that its workers read when they do nothing else
  std::optional<Estimate>
      memory{};           // that they hand over when all is in memory; none: cpu_time_s and cores stand for it
  double cpu_time_s = 0;  // to decode one sample; 0 = nothing is decoded
  double cores = 0;       // that decode; 0 = not known
  double workers = 1;     // that read and decode one after the other
  double taking_s = 0;    // of a sample's part of its batch, in the GPU's own process: of a processor
  double handed = 0;      // samples/s that those processes can hand on at most; 0 = not known
  double taken = 0;       // samples/s of GPUs that never wait
};

struct Prediction {
  Estimate rate;         // samples/s that the loader gives
  Estimate utilization;  // A18: what it gives over what the GPUs take, at most 1
  std::string formula;   // by which
};

/// The loader gives between what its workers do one thing after the other (reads take as long as when nothing is decoded:
/// A17 without overlap), and what storage and cores give when both are kept busy (B2, B12); the value is in the middle.
/// Throws job::DomainError.
Prediction predict_utilization(const MeasuredParts& parts);

}  // namespace headrace
