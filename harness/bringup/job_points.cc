#include "harness/bringup/job_points.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/bringup/agents/own_run.h"

namespace headrace::bringup {

bool has_storage(const Record& record, unsigned node) {
  const auto& differences = record.nodes[node].differences;
  return std::none_of(differences.begin(), differences.end(),
                      [&](const Difference& one) { return one.fault && one.what == "path " + record.measuring.at; });
}

std::map<unsigned, nlohmann::json> job_requests(const Record& record, const std::vector<unsigned>& nodes) {
  std::map<unsigned, nlohmann::json> requests;
  if (record.measuring.job.empty() || record.measuring.at.empty()) return requests;
  agents::RunWanted wanted;
  wanted.job = record.measuring.job;
  wanted.at = record.measuring.at;
  wanted.only = kJobPoints;
  wanted.looks = "3";
  wanted.budget = "1min";
  wanted.most_s = kMostOfJob_s;
  for (const unsigned node : nodes) {
    if (!has_storage(record, node)) continue;
    wanted.folder = "headrace-" + record.nodes[node].host.name;
    requests[node] = agents::run_json(wanted);
  }
  return requests;
}

}  // namespace headrace::bringup
