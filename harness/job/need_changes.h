// What an override changes: the needs of two jobs side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/job/needs.h"

namespace headrace::job {

/// A need at a scope, with margin, of two jobs; a side that does not have it has no value.
struct NeedChange {
  std::string id;
  Scope scope = Scope::cluster;
  std::string unit;
  std::optional<double> before, after;

  /// None where either side is missing, or the need was 0.
  std::optional<double> factor() const;
  bool same() const { return before == after; }
};

/// In the order of the job after; what only the job before has comes last.
std::vector<NeedChange> need_changes(const Job& before, const Job& after);

/// {"schema", "job", "overrides", "needs": [{"id", "scope", "unit", "before", "after", "factor"}]};
/// a side that does not have the need is null, and so is the factor then.
std::string changes_json(const Job& before, const Job& after, const std::vector<std::string>& overrides);

/// id,scope,unit,before,after,factor
std::string changes_csv(const Job& before, const Job& after);

}  // namespace headrace::job
