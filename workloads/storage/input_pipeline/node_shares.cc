#include "workloads/storage/input_pipeline/node_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "harness/record/ranks/ranks.h"

namespace headrace::input_pipeline {
namespace {

constexpr double kWords_s = 60;  // for the others' words after a repetition

}  // namespace

void NodesTogether::connect(Node& node) {
  ranks_ = &node.ranks();
  team_ = node.team();
}

std::unique_ptr<pipeline::StepBarrier> NodesTogether::barrier() const {
  return team_.size() > 1 ? std::make_unique<pipeline::StepBarrier>(*ranks_, team_) : nullptr;
}

void NodesTogether::report(NodeShares& reported, bool steps, MetricSink& sink) {
  slowest_.reset();
  held_back_.clear();
  if (team_.size() < 2) return;
  const std::string own(reinterpret_cast<const char*>(&reported), sizeof reported);
  std::vector<NodeShares> all;
  for (const std::string& words : ranks_->gather("shares of the steps", team_, own, kWords_s))
    std::memcpy(&all.emplace_back(), words.data(), std::min(words.size(), sizeof reported));
  if (!steps) {
    const auto least = std::ranges::min_element(all, {}, &NodeShares::rate);
    slowest_ = static_cast<unsigned>(least - all.begin());
    reported.rate = least->rate;
    return;
  }
  // Who ends a step last waits for nobody. How often one does says less: of steps that come in bursts only the first is
  // waited for.
  const auto least = std::ranges::min_element(all, {}, [](const NodeShares& each) { return each.gpus.others; });
  slowest_ = static_cast<unsigned>(least - all.begin());
  double others = 0;
  for (const NodeShares& each : all) others += each.gpus.others;
  others = (others - least->gpus.others) / static_cast<double>(all.size() - 1);
  const double rate = reported.rate;
  const std::uint64_t counted = reported.gpus.steps;
  reported = *least;
  reported.rate = rate;
  reported.gpus.steps = counted;
  sink.put("others_fraction", others);
  sink.put("least_others_fraction", reported.gpus.others);
  held_back_ =
      fmt::format("in the last repetition {} waited for other nodes {:.1f} % of the time, the other{} {:.1f} %",
                  ranks_->who(team_[*slowest_]), 100 * reported.gpus.others, all.size() == 2 ? "" : "s", 100 * others);
}

std::string NodesTogether::take_note() { return std::exchange(held_back_, ""); }

}  // namespace headrace::input_pipeline
