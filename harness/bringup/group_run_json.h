// What nodes measured together, as bringup.json keeps it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/bringup/group_run.h"
#include "harness/results/json_place.h"

namespace headrace::bringup {

nlohmann::ordered_json group_run_json(const GroupRun& run);
/// Throws UsageError where it is none.
GroupRun group_run_from(const results::JsonPlace& place);

}  // namespace headrace::bringup
