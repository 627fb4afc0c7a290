// A host's own measurements: points of a configuration, or those that follow from a job. headrace runs them in a
// process of its own, so that the agent survives any failure of it.
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
  std::string placed;  // of those: the folder that has their files on each host (placed.h), by config and job
  std::string only;    // globs of points, by commas; "" = all
  std::string looks;   // "3"; "" = their own
  std::string budget;  // "1min"; "" = the default, too
  double most_s = 60;  // it is ended after that
};

/// Why this host can start no run on several hosts: no mpirun, or no MPI in this build. "" = it can.
std::string why_not_together(const Backends& backends);

nlohmann::json run_json(const RunWanted& wanted);
/// Throws std::exception where it is none.
RunWanted run_from(const nlohmann::json& json);

/// Text of its run.json, without long parts that are not compared. Throws RunError where it left none: why, as far as
/// it reported. Ends early once `input` ends.
std::string own_run(const RunWanted& wanted, int input);

/// Removes the data that such runs made. Returns the rest, in words; "" = none.
std::string clean_after(const RunWanted& wanted);

}  // namespace headrace::agents
