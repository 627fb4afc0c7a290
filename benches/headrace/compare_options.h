// The options by which a comparison decides: the same for compare, run --against and run --against-itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "benches/headrace/verb.h"
#include "harness/analysis/comparison/comparison.h"
#include "harness/engine/plan/plan.h"
#include "harness/results/run_file.h"

namespace headrace::cli {

// Shares as options take them.

/// "5%" or "0.05" as a share, between 0 and 1; `fallback` when nothing was given. Throws UsageError
/// that names the option.
double share_of(const std::string& option, const std::string& text, double fallback);

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

// Past sessions, as --history names them.

/// The runs below `folder`, one level deep. Unreadable runs are reported and left out. Throws UsageError where there is
/// no such folder.
std::vector<results::StoredRun> past_runs(const std::string& folder);

}  // namespace headrace::cli
