// Needs as programs read them: JSON, CSV.
#pragma once

#include <span>
#include <string>

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

}  // namespace headrace::job
