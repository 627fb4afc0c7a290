// Groups of ranks that do a collective at the same time, with any library: their members, and their rate together.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/collective.h"
#include "harness/base/footprint.h"
#include "harness/record/metric.h"
#include "harness/record/params.h"
#include "harness/record/ranks/rank_groups.h"

namespace headrace::network {

inline constexpr std::array kCollectiveMetrics{
    Metric{"busbw", "B/s", Better::higher,
           "Formula F1: algbw times 2 (n-1)/n, (n-1)/n or 1, by the operation; the slowest group's",
           /*per_device=*/false, /*of_a_line=*/true},
    Metric{"algbw", "B/s", Better::higher, "Message size over the time of one call, counted the same"},
    Metric{"time_s", "s", Better::lower, "One call: elapsed time over their number, the slowest rank's"},
    Metric{"node_busbw", "B/s", Better::higher,
           "busbw of all groups of a node that reach other nodes, added up; the node with the least",
           /*per_device=*/false, /*of_a_line=*/true},
};

class CollectiveGroups {
 public:
  explicit CollectiveGroups(Params& p) : grouping_(RankGrouping::declare(p)) {}

  /// Puts the members, one for each place, into groups. Why there is nothing to measure, or nothing.
  std::optional<Skip> split(std::vector<RankPlace> places, Collective what, std::uint64_t message_size,
                            unsigned element_bytes = sizeof(float));

  const std::vector<std::vector<unsigned>>& all() const { return groups_; }
  const std::vector<unsigned>& operator[](std::size_t group) const { return groups_[group]; }
  std::size_t size() const { return groups_.size(); }
  /// Nothing before split().
  std::optional<GroupShape> shape() const;
  /// The group that `member` is in; some are in none.
  std::optional<std::size_t> of(unsigned member) const;

  /// Elements of one call of the group: whole parts.
  std::uint64_t count(std::size_t group, Collective what, std::uint64_t message_size) const;

  /// `times`: of one call [s], each group's slowest rank's. `factor`: busbw over algbw of a group of this size, where
  /// it is not the operation's usual one.
  void report(const std::vector<double>& times, Collective what, std::uint64_t message_size, MetricSink& sink,
              const std::function<double(std::size_t)>& factor = nullptr) const;

  /// "4 groups of 2 ranks on 2 nodes"; "" where there is one group of all.
  std::string words() const;

 private:
  double bytes(std::size_t group, Collective what, std::uint64_t message_size) const;
  std::size_t nodes() const;

  RankGrouping grouping_;
  std::vector<RankPlace> places_;
  std::vector<std::vector<unsigned>> groups_;
  unsigned element_bytes_ = sizeof(float);
};

}  // namespace headrace::network
