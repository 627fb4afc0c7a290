// The options that say what a comparison decides by: the same for compare, run --against and run --against-itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "benches/headrace/verb.h"
#include "harness/analysis/comparison/comparison.h"
#include "harness/engine/plan/plan.h"

namespace headrace::cli {

struct CompareOptions {
  std::vector<std::string> gates, differs, across;
  std::string delta, delta_tail, noise;
};

/// Adds --gate, --differs, --across, --delta, --delta-tail and --aa.
void add_compare_options(Verb& verb, CompareOptions& options);

/// Throws UsageError. The file of --aa is read; without it there is no noise floor yet.
comparison::Options compare_options(const CompareOptions& options);

/// Throws UsageError when a gate matches no metric that these plans can measure: before hours are
/// spent, not after.
void require_gates(const comparison::Options& options, std::span<const Plan* const> plans);

}  // namespace headrace::cli
