// The job's work on one node, which each node measures on the storage of --at.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// The points that are like the job, without those that might be faster.
inline constexpr const char* kJobPoints = "*/job";
/// The longest that a node may take for it [s].
inline constexpr double kMostOfJob_s = 300;

/// For an agent's run; none where there is no job or no folder. Nodes with other storage there than the others, or
/// none, are left out. They would measure their own folder.
std::map<unsigned, nlohmann::json> job_requests(const Record& record, const std::vector<unsigned>& nodes);
/// Has this host the storage that the others have there?
bool has_storage(const Record& record, unsigned node);

}  // namespace headrace::bringup
