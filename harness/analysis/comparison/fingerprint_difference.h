// Differences between the machines, settings and programs of compared runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/results/run_file.h"

namespace headrace::comparison {

struct FingerprintDifference {
  std::string key;                  // "kernel.release"
  std::vector<std::string> values;  // one per run, "" where it is not reported
  bool declared = false;            // differs on purpose
  bool matters = true;              // false: names, and values that change by the minute
};

/// Most significant first. `declared` are keys ("kernel.release") or sections ("device").
std::vector<FingerprintDifference> fingerprint_differences(std::span<const results::StoredRun* const> runs,
                                                           std::span<const std::string> declared);

/// Do the two runs come from machines that are alike in all that matters?
bool same_fingerprint(const results::StoredRun& a, const results::StoredRun& b);

}  // namespace headrace::comparison
