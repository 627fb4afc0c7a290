// Groups of ranks that do a collective at the same time, whatever library does it: who is in which,
// and what they give together.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/collective.h"
#include "harness/rank_groups.h"
#include "harness/workload.h"

namespace headrace::network {

inline constexpr std::array kCollectiveMetrics{
    Metric{"busbw", "B/s", Better::higher,
           "Formula F1: algbw times 2 (n-1)/n, (n-1)/n or 1, by the operation; the slowest group's"},
    Metric{"algbw", "B/s", Better::higher, "Message size over the time of one call, likewise"},
    Metric{"time_s", "s", Better::lower, "One call: elapsed time over their number, the slowest rank's"},
    Metric{"node_busbw", "B/s", Better::higher,
           "busbw of all groups of a node that reach other nodes, added up; the node with the least"},
};

class CollectiveGroups {
 public:
  explicit CollectiveGroups(Params& p) : grouping_(RankGrouping::declare(p)) {}

  /// Puts the members, one for each place, into groups. Why there is nothing to measure, or nothing.
  std::optional<Skip> split(std::vector<RankPlace> places, Collective what, std::uint64_t message_size) {
    places_ = std::move(places);
    groups_ = grouping_.split(places_);
    if (groups_.empty()) return Skip{grouping_.why_none()};
    for (const auto& group : groups_) {
      if (has_parts(what) && message_size / sizeof(float) < group.size())
        return Skip{fmt::format("message_size: {} bytes are less than one element for each of {} ranks", message_size,
                                group.size())};
    }
    return std::nullopt;
  }

  const std::vector<std::vector<unsigned>>& all() const { return groups_; }
  const std::vector<unsigned>& operator[](std::size_t group) const { return groups_[group]; }
  std::size_t size() const { return groups_.size(); }
  /// Nothing before split().
  std::optional<GroupShape> shape() const {
    return groups_.empty() ? std::nullopt : std::optional(shape_of(groups_, places_));
  }
  /// The group that `member` is in; some are in none.
  std::optional<std::size_t> of(unsigned member) const {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (std::find(groups_[g].begin(), groups_[g].end(), member) != groups_[g].end()) return g;
    return std::nullopt;
  }

  /// Floats of one call of the group: whole parts.
  std::uint64_t count(std::size_t group, Collective what, std::uint64_t message_size) const {
    const std::uint64_t all = message_size / sizeof(float);
    return has_parts(what) ? all - all % groups_[group].size() : all;
  }

  /// `times`: of one call [s], each group's slowest rank's.
  void report(const std::vector<double>& times, Collective what, std::uint64_t message_size, MetricSink& sink) const {
    std::vector<double> busbw, of_node(nodes(), 0);
    std::size_t slowest = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const auto n = static_cast<unsigned>(groups_[g].size());
      busbw.push_back(bytes(g, what, message_size) / times[g] * bus_factor(what, n));
      if (busbw[g] < busbw[slowest]) slowest = g;
      if (nodes_of(groups_[g], places_) == 1) continue;
      std::vector<bool> there(of_node.size());
      for (const unsigned i : groups_[g]) there[places_[i].node] = true;
      for (std::size_t node = 0; node < there.size(); ++node)
        if (there[node]) of_node[node] += busbw[g];
    }
    sink.put("busbw", busbw[slowest]);
    sink.put("algbw", bytes(slowest, what, message_size) / times[slowest]);
    sink.put("time_s", times[slowest]);
    std::erase(of_node, 0);
    if (!of_node.empty()) sink.put("node_busbw", *std::min_element(of_node.begin(), of_node.end()));
  }

  /// "4 groups of 2 ranks on 2 nodes"; "" where there is one group of all.
  std::string words() const {
    std::size_t in = 0;
    for (const auto& group : groups_) in += group.size();
    if (groups_.empty() || (groups_.size() == 1 && in == places_.size())) return "";
    const GroupShape shape = *this->shape();
    return fmt::format("{} group{} of {} ranks on {} node{}{}", shape.groups, shape.groups == 1 ? "" : "s", shape.ranks,
                       shape.nodes, shape.nodes == 1 ? "" : "s",
                       in == places_.size() ? "" : fmt::format("; {} in none", places_.size() - in));
  }

 private:
  double bytes(std::size_t group, Collective what, std::uint64_t message_size) const {
    return static_cast<double>(count(group, what, message_size) * sizeof(float));
  }
  std::size_t nodes() const {
    unsigned most = 0;
    for (const RankPlace& place : places_) most = std::max(most, place.node);
    return most + 1;
  }

  RankGrouping grouping_;
  std::vector<RankPlace> places_;
  std::vector<std::vector<unsigned>> groups_;
};

}  // namespace headrace::network
