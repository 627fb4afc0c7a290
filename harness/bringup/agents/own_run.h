// What a host measures by itself: points of a configuration, or those that follow from a job, by headrace's own run in a
// process of its own, so that whatever becomes of it leaves the agent there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace headrace {
class Backends;
}

namespace headrace::agents {

struct RunWanted {
  std::string config;              // YAML; "" = the points follow from the job
  std::string job;                 // YAML; "" = there is none
  std::string at;                  // a folder that is there, on the storage to be measured; "" = no storage is
  std::string folder;              // below it, of this host alone: the scratch folder
  std::vector<std::string> hosts;  // a process on each of them together, by mpirun; none: this host alone
  std::string placed;  // of those: the folder that has their files on each host (placed.h), as config and job say
  std::string only;    // globs of points, by commas; "" = all
  std::string looks;   // "3"; "" = as they say themselves
  std::string budget;  // "1min"; "" likewise
  double most_s = 60;  // it is ended after that
};

/// Why this host can start no run on several hosts, "" = it can: there is no mpirun, this build has no MPI.
std::string why_not_together(const Backends& backends);

nlohmann::json run_json(const RunWanted& wanted);
/// Throws std::exception where it is none.
RunWanted run_from(const nlohmann::json& json);

/// Text of its run.json, without what is long and nobody compares. Throws RunError where it left none: why, as far as it
/// said so. Ends early once `input` ends.
std::string own_run(const RunWanted& wanted, int input);

/// Removes the data that such runs made. What stays, in words; "" = nothing does.
std::string clean_after(const RunWanted& wanted);

}  // namespace headrace::agents
