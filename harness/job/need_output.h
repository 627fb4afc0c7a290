// Needs as programs read them: JSON, CSV.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/job/needs.h"

namespace headrace::job {

/// {"schema": 1, "job": ..., "safety": ..., "needs": [{"id", "scope", "direction", "required",
/// "need", "unit", "formula", "equation", "substituted", "inputs", "measured_by"}]}: docs/reference/job.md
/// describes it.
std::string needs_json(const Job& job, std::span<const Need> needs);

/// A header, then a line per need and scope.
std::string needs_csv(std::span<const Need> needs);

/// A value of a need with four digits and the unit people use.
std::string need_value(double value, const std::string& unit);

// The changes by an override: the needs of two jobs side by side.

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

/// In the order of the job after; needs of only the job before come last.
std::vector<NeedChange> need_changes(const Job& before, const Job& after);

/// {"schema", "job", "overrides", "needs": [{"id", "scope", "unit", "before", "after", "factor"}]}. A side that does
/// not have the need is null, and so is the factor then.
std::string changes_json(const Job& before, const Job& after, const std::vector<std::string>& overrides);

/// id,scope,unit,before,after,factor
std::string changes_csv(const Job& before, const Job& after);

}  // namespace headrace::job
