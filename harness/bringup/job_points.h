// What the job does on one node, as each node is asked to measure it on the storage of --at.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// Of a job's points those that do what the job does, and none that might be faster.
inline constexpr const char* kJobPoints = "*/job";
/// The longest that a node may take for it [s].
inline constexpr double kMostOfJob_s = 300;

/// For an agent's run; none where there is no job or no folder. Left out are nodes that have another storage there than the
/// others, or none: a folder of their own would be measured instead.
std::map<unsigned, nlohmann::json> job_requests(const Record& record, const std::vector<unsigned>& nodes);
/// Has this host the storage that the others have there?
bool has_storage(const Record& record, unsigned node);

}  // namespace headrace::bringup
