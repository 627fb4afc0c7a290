// Several nodes that step together: what each did of a repetition, and who holds back the others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/workload/data/pipeline.h"
#include "harness/workload/workload.h"

namespace headrace::input_pipeline {

/// What a node did in a repetition.
struct NodeShares {
  double rate = 0;  // samples/s
  pipeline::Utilization gpus;
  double reading = 0, decoding = 0, waiting = 0;  // of the workers' time
};
static_assert(std::is_trivially_copyable_v<NodeShares>);

/// The nodes of a team; one alone sends nothing.
class NodesTogether {
 public:
  /// Untimed.
  void connect(Node& node);
  /// By which they end their steps together; nullptr: there is one.
  std::unique_ptr<pipeline::StepBarrier> barrier() const;

  /// All say what they did, and `reported` becomes the slowest one's, as its steps are everybody's. Without `steps` nothing
  /// computes and no step waits for another; then each node counts for as much as the slowest gives.
  void report(NodeShares& reported, bool steps, MetricSink& sink);
  /// By its place, after report().
  std::optional<unsigned> slowest() const { return slowest_; }
  /// A note of the last repetition, once; "" = none.
  std::string take_note();

 private:
  Ranks* ranks_ = nullptr;
  std::vector<unsigned> team_;
  std::optional<unsigned> slowest_;
  std::string held_back_;
};

}  // namespace headrace::input_pipeline
