// What others do with a verdict on a cluster: commands that take bad nodes out and let repaired ones back in, and files for
// continuous integration and monitoring.
#pragma once

#include <string>
#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// "node[001-003,007],login": names that end with numbers of as many digits, as Slurm takes them.
std::string compressed(std::vector<std::string> names);

enum class Scheduler { slurm, kubernetes };

/// Commands for a shell. They run nothing by themselves.
struct Commands {
  std::vector<unsigned> nodes;  // whom they concern
  std::vector<std::string> drain, resume;
};
/// Nodes that are confirmed are drained, with what they lose in as the reason; those that were retested are resumed.
Commands commands_for(const Record& record, Scheduler scheduler);

/// More than so many nodes are never drained by one command line: then it is likely that something else is wrong.
inline constexpr double kMostDrained = 0.25;

/// A case for each node, and for each fault that is no node's.
std::string junit_xml(const Record& record);
/// For the node exporter's textfile collector.
std::string prometheus_text(const Record& record);

}  // namespace headrace::bringup
