// What each node measures by itself, all of them at the same time: its cores, memory and GPUs, and storage as the job uses
// it. judge_tests.h shows what follows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/metric.h"
#include "harness/results/run_file.h"

namespace headrace::bringup {

/// By which nodes are compared: each rate or share of each point.
struct TestedMetric {
  std::string workload, point, metric, unit, description;
  std::map<std::string, std::string> params;
  Better better = Better::higher;
  bool leads = true;  // the point's first
};

/// A part that the node's own run found broken: one occurrence is enough, whatever the others measured.
struct TestedFault {
  std::string part, reported, fix;  // "gpu3"
};

struct TestedNode {
  unsigned node = 0;                           // its place in Record::nodes
  std::vector<std::optional<double>> values;   // along the metrics, in their units; of rates the means over time
  double disturbed = 0;                        // share of its repetitions that other programs disturbed
  std::map<std::string, std::string> without;  // points that reported nothing, and why; "" = all of them
  std::vector<TestedFault> faults{};
  std::map<std::string, std::string> far_below{};  // by point and metric: what surely no sound hardware gives, in words
};

/// What was measured at one time.
struct NodeTests {
  std::string started_utc;
  double took_s = 0;
  std::vector<TestedMetric> metrics;
  std::vector<TestedNode> nodes;

  /// The node's own, made where there is none.
  TestedNode& of(unsigned node);
};

/// Takes in what a node's run reports.
void add_run(NodeTests& tests, unsigned node, const results::StoredRun& run);
/// The node's run did not come to an end.
void add_failure(NodeTests& tests, unsigned node, const std::string& why);

}  // namespace headrace::bringup
