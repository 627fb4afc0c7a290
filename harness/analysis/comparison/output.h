// A comparison as programs read it: comparison.json, CSV and JUnit. docs/reference/comparison-json.md describes
// them.
#pragma once

#include <string>

#include "harness/analysis/comparison/comparison.h"
#include "harness/base/files/marked_folder.h"

namespace headrace::comparison {

std::string comparison_json(const Comparison& all);

/// A line per row: pair,workload,point,parameters,metric,unit,direction,gated,base,other,ratio,low,
/// high,p,status,reason,says_same_as.
std::string comparison_csv(const Comparison& all);

/// A suite per pair, a case per row. Worse gates fail; inconclusive gates and those missing on one side are errors.
/// Other rows pass and have their outcome in properties.
std::string comparison_junit(const Comparison& all);

/// Writes the three into `folder`. Throws RunError.
void write_comparison(const Comparison& all, const MarkedFolder& folder);

}  // namespace headrace::comparison
