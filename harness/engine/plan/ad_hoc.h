// A plan from a configuration that stands in no file.
#pragma once

#include "harness/base/config/document.h"
#include "harness/engine/plan/plan.h"

namespace headrace {

/// As make_plan() of a file that holds `configuration`; options.config_file and options.overrides are not read. Each
/// problem is reported at the place that its value has. Throws UsageError.
Plan make_plan(const config::Value& configuration, const PlanOptions& options);

}  // namespace headrace
