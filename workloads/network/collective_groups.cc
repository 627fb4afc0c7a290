#include "workloads/network/collective_groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::network {

std::optional<Skip> CollectiveGroups::split(std::vector<RankPlace> places, Collective what, std::uint64_t message_size,
                                            unsigned element_bytes) {
  element_bytes_ = element_bytes;
  places_ = std::move(places);
  groups_ = grouping_.split(places_);
  if (groups_.empty()) return Skip{grouping_.why_none()};
  for (const auto& group : groups_) {
    if (has_parts(what) && message_size / element_bytes < group.size())
      return Skip{fmt::format("message_size: {} bytes are less than one element for each of {} ranks", message_size,
                              group.size())};
  }
  return std::nullopt;
}

std::optional<GroupShape> CollectiveGroups::shape() const {
  return groups_.empty() ? std::nullopt : std::optional(shape_of(groups_, places_));
}

std::optional<std::size_t> CollectiveGroups::of(unsigned member) const {
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (std::find(groups_[g].begin(), groups_[g].end(), member) != groups_[g].end()) return g;
  return std::nullopt;
}

std::uint64_t CollectiveGroups::count(std::size_t group, Collective what, std::uint64_t message_size) const {
  const std::uint64_t all = message_size / element_bytes_;
  return has_parts(what) ? all - all % groups_[group].size() : all;
}

void CollectiveGroups::report(const std::vector<double>& times, Collective what, std::uint64_t message_size,
                              MetricSink& sink, const std::function<double(std::size_t)>& factor) const {
  std::vector<double> busbw, of_node(nodes(), 0);
  std::size_t slowest = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto n = static_cast<unsigned>(groups_[g].size());
    busbw.push_back(bytes(g, what, message_size) / times[g] * (factor ? factor(n) : bus_factor(what, n)));
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

std::string CollectiveGroups::words() const {
  std::size_t in = 0;
  for (const auto& group : groups_) in += group.size();
  if (groups_.empty() || (groups_.size() == 1 && in == places_.size())) return "";
  const GroupShape shape = *this->shape();
  return fmt::format("{} group{} of {} ranks on {} node{}{}", shape.groups, shape.groups == 1 ? "" : "s", shape.ranks,
                     shape.nodes, shape.nodes == 1 ? "" : "s",
                     in == places_.size() ? "" : fmt::format("; {} in none", places_.size() - in));
}

double CollectiveGroups::bytes(std::size_t group, Collective what, std::uint64_t message_size) const {
  return static_cast<double>(count(group, what, message_size) * element_bytes_);
}

std::size_t CollectiveGroups::nodes() const {
  unsigned most = 0;
  for (const RankPlace& place : places_) most = std::max(most, place.node);
  return most + 1;
}

}  // namespace headrace::network
