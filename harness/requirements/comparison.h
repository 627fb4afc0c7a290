// What an override changes: the needs of two jobs side by side.
#pragma once

#include <string>

#include "harness/requirements/needs.h"

namespace headrace::requirements {

/// A line per need and scope that either job has: before, after, and the factor between them. Needs
/// that stay the same are counted, not listed. At most 100 columns.
std::string comparison_text(const Job& before, const Job& after, const std::vector<std::string>& overrides);

/// {"schema", "job", "overrides", "needs": [{"id", "scope", "unit", "before", "after", "factor"}]};
/// a side that does not have the need is null, and so is the factor then.
std::string comparison_json(const Job& before, const Job& after, const std::vector<std::string>& overrides);

/// id,scope,unit,before,after,factor
std::string comparison_csv(const Job& before, const Job& after);

}  // namespace headrace::requirements
