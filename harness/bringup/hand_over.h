// The uses of a verdict on a cluster: commands that drain bad nodes and resume repaired ones. Also files for continuous
// integration and monitoring.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/bringup/record.h"
#include "harness/machine/network/host_list.h"

namespace headrace::bringup {

enum class Scheduler { slurm, kubernetes };

/// Commands for a shell. They run nothing by themselves.
struct Commands {
  std::vector<unsigned> nodes;  // the nodes that they concern
  std::vector<std::string> drain, resume;
  std::vector<std::string> resume_others;  // not drained by --drain: an administrator may have another reason
  std::vector<std::string> all_resume() const;
};
/// Nodes that are confirmed or flapping are drained, with their loss as the reason. Unreachable ones are taken out,
/// too, unless half of all are. Retested ones are resumed, or left to the user if --drain did not drain them.
Commands commands_for(const Record& record, Scheduler scheduler);

/// One command line never drains more nodes than this: then something else is likely wrong.
inline constexpr double kMostDrained = 0.25;

/// What to do next, and when.
struct Step {
  std::string when, command;  // "once it is repaired", "headrace bringup --out cluster --retest node3"
};
/// None while a session goes on.
std::vector<Step> next_steps(const Record& record);

/// Why a suspect node is undecided.
std::string why_undecided(const Record& record);

/// Nodes as compressed() writes them, by their state, in the order of the states, and last those that are "missing".
std::vector<std::pair<std::string, std::string>> nodes_by_state(const Record& record);

/// A case for each node, and for each fault that is no node's.
std::string junit_xml(const Record& record);
/// For the node exporter's textfile collector.
std::string prometheus_text(const Record& record);
/// A line for each node, and for each fault that is no node's: scope,subject,rack,switch,state,in,loss,reported.
std::string findings_csv(const Record& record);

}  // namespace headrace::bringup
