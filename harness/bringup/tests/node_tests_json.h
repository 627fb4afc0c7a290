// What nodes measured by themselves, as bringup.json keeps it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/bringup/tests/node_tests.h"
#include "harness/results/json_place.h"

namespace headrace::bringup {

nlohmann::ordered_json node_tests_json(const NodeTests& tests);
/// Throws UsageError where it is none.
NodeTests node_tests_from(const results::JsonPlace& place);

}  // namespace headrace::bringup
