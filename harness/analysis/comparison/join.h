// Which points of two sides are the same: by workload and full parameters.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/comparison/comparison.h"
#include "harness/results/metric_key.h"

namespace headrace::comparison {

/// A point in one of a side's runs.
struct Found {
  std::size_t run;  // index in Side::runs
  const results::StoredPoint* point;
};

/// The points of many runs by their join keys, without the parameters `across` which runs are compared. Each list has
/// at least one.
using PointIndex = std::map<results::PointKey, std::vector<Found>>;
PointIndex index_points(std::span<const results::StoredRun* const> runs, std::span<const std::string> across);

/// The same point on both sides, in every run that has it.
struct Joined {
  results::PointKey key;
  std::vector<Found> base, other;

  const results::StoredPoint& base_point() const { return *base.front().point; }
  const results::StoredPoint& other_point() const { return *other.front().point; }
};

/// In the order of the base. Metrics that only one side has are added to the pair's list of uncompared ones.
std::vector<Joined> join(const Side& base, const Side& other, const Options& options, Pair& pair);

/// The parameters in which both sides of joined points differ.
std::vector<ParameterDifference> differing_parameters(const std::vector<Joined>& joined);

}  // namespace headrace::comparison
