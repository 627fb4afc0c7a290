// Each node's own measurements, all at the same time. They cover cores, memory, GPUs, and storage as the job uses it.
// judge_tests.h judges them.
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

/// A part that the node's own run found broken: one occurrence is enough, regardless of the others.
struct TestedFault {
  std::string part, reported, fix;  // "gpu3"
};

struct TestedNode {
  unsigned node = 0;                           // its place in Record::nodes
  std::vector<std::optional<double>> values;   // along the metrics, in their units; of rates the means over time
  double disturbed = 0;                        // share of its repetitions that other programs disturbed
  std::map<std::string, std::string> without;  // points that reported nothing, and why; "" = all of them
  std::vector<TestedFault> faults{};
  std::map<std::string, std::string> far_below{};  // by point and metric: values below all sound hardware, in words
};

/// The measurements of one time.
struct NodeTests {
  std::string started_utc;
  double took_s = 0;
  std::vector<TestedMetric> metrics;
  std::vector<TestedNode> nodes;

  /// The node's own, made where there is none.
  TestedNode& of(unsigned node);
};

/// Takes in the results of a node's run.
void add_run(NodeTests& tests, unsigned node, const results::StoredRun& run);
/// The node's run did not come to an end.
void add_failure(NodeTests& tests, unsigned node, const std::string& why);

}  // namespace headrace::bringup
