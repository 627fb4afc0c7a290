// What collecting and judging share.
#pragma once

#include <mutex>

#include "harness/fleet/fleet.h"

namespace headrace::fleet {

struct Collector::State {
  explicit State(comparison::Options o) : options(std::move(o)) {}

  comparison::Options options;
  std::mutex mutex;
  std::map<std::string, std::size_t> index;
  std::vector<MetricKey> metrics;
  std::vector<NodeRun> runs;
  std::vector<PairMatrix> pairs;
};

/// Pairs below the usual of their matrix; a node is blamed when at least three partners, and most
/// of them, agree.
JudgedPairs judge_pairs(PairMatrix matrix);

/// Racks, switches... of which the nodes in `having` (indices) are worse together by this metric.
/// Each node counts for one attribute only: the one that explains most. By attribute and name.
std::map<std::string, GroupEffect> group_effects(const Fleet& fleet, std::size_t metric,
                                                 const std::vector<std::size_t>& having);

/// Of the nodes whose run tells a noise floor; nothing when none does.
std::optional<NodeNoise> noise_of(const std::vector<const NodeRun*>& newest);

}  // namespace headrace::fleet
