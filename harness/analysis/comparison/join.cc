// Joining by a map: thousands of points stay thousands of look-ups.
#include "harness/analysis/comparison/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace headrace::comparison {
namespace {

using results::PointKey;
using results::StoredPoint;
using results::StoredRun;

/// A parameter's value on both sides.
struct Differing {
  std::string name, a, b;
};

/// The parameters in which two points differ.
std::vector<Differing> differing_params(const StoredPoint& a, const StoredPoint& b) {
  const auto value = [](const StoredPoint& p, const std::string& key) {
    const auto found = p.params.find(key);
    return found == p.params.end() ? std::string("-") : found->second;
  };
  std::set<std::string> names;
  for (const StoredPoint* p : {&a, &b})
    for (const auto& [key, unused] : p->params) names.insert(key);
  std::vector<Differing> all;
  for (const std::string& name : names)
    if (value(a, name) != value(b, name)) all.push_back({name, value(a, name), value(b, name)});
  return all;
}

/// "workers 4 / 8".
std::string differing_text(const StoredPoint& a, const StoredPoint& b) {
  std::string text;
  for (const Differing& d : differing_params(a, b))
    text += fmt::format("{}{} {} / {}", text.empty() ? "" : ", ", d.name, d.a, d.b);
  return text;
}

/// Two points of one run that differ in the compared parameter alone. Their values are not repetitions of one. Reports
/// which, or "".
std::string mixed(const std::vector<Found>& points) {
  for (std::size_t i = 1; i < points.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (points[i].run == points[k].run) return differing_text(*points[k].point, *points[i].point);
  return "";
}

std::vector<const StoredRun*> runs_of(const Side& side) {
  std::vector<const StoredRun*> runs;
  for (const StoredRun& run : side.runs) runs.push_back(&run);
  return runs;
}

/// The keys in the order in which the points were measured.
std::vector<PointKey> keys_in_order(const Side& side, const Options& options) {
  std::vector<PointKey> keys;
  std::set<PointKey> seen;
  for (const StoredRun& run : side.runs)
    for (const StoredPoint& point : run.points)
      if (PointKey key = point_key(point, options.across); seen.insert(key).second) keys.push_back(std::move(key));
  return keys;
}

}  // namespace

PointIndex index_points(std::span<const StoredRun* const> runs, std::span<const std::string> across) {
  PointIndex index;
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const StoredPoint& point : runs[r]->points) index[point_key(point, across)].push_back({r, &point});
  return index;
}

std::vector<Joined> join(const Side& base, const Side& other, const Options& options, Pair& pair) {
  const PointIndex a = index_points(runs_of(base), options.across), b = index_points(runs_of(other), options.across);
  const std::vector<PointKey> a_keys = keys_in_order(base, options), b_keys = keys_in_order(other, options);
  const auto left_out = [&](const std::vector<PointKey>& keys, const PointIndex& mine,
                            const std::vector<PointKey>& their_keys, const PointIndex& theirs, const Side& side) {
    std::map<std::string, const StoredPoint*> by_name;
    for (const PointKey& key : their_keys) {
      const StoredPoint* point = theirs.at(key).front().point;
      by_name.emplace(point->id, point);
    }
    for (const PointKey& key : keys) {
      if (theirs.count(key) != 0) continue;
      const StoredPoint& point = *mine.at(key).front().point;
      const auto same_name = by_name.find(point.id);
      pair.not_compared.push_back({point.id, "", side.label,
                                   same_name != by_name.end()
                                       ? "measured with other parameters: " + differing_text(point, *same_name->second)
                                       : "only in " + side.label,
                                   options.gates.selects_any(base.first(), point)});
    }
  };
  std::vector<Joined> joined;
  for (const PointKey& key : a_keys) {
    const auto found = b.find(key);
    if (found == b.end()) continue;
    Joined both{key, a.at(key), found->second};
    const std::string in_base = mixed(both.base), in_other = mixed(both.other);
    if (in_base.empty() && in_other.empty()) {
      joined.push_back(std::move(both));
      continue;
    }
    const Side& side = in_base.empty() ? other : base;
    const StoredPoint& point = in_base.empty() ? both.other_point() : both.base_point();
    pair.not_compared.push_back(
        {point.id, "", side.label,
         fmt::format("{} has it more than once: {}", side.label, in_base.empty() ? in_other : in_base),
         options.gates.selects_any(base.first(), point)});
  }
  left_out(a_keys, a, b_keys, b, base);
  left_out(b_keys, b, a_keys, a, other);
  return joined;
}

std::vector<ParameterDifference> differing_parameters(const std::vector<Joined>& joined) {
  std::vector<ParameterDifference> all;
  for (const Joined& j : joined) {
    for (const Differing& d : differing_params(j.base_point(), j.other_point())) {
      const auto known = std::find_if(all.begin(), all.end(), [&](const ParameterDifference& one) {
        return one.name == d.name && one.base == d.a && one.other == d.b;
      });
      if (known == all.end())
        all.push_back({d.name, d.a, d.b, {j.base_point().id}});
      else
        known->points.push_back(j.base_point().id);
    }
  }
  for (ParameterDifference& one : all)
    if (one.points.size() == joined.size()) one.points.clear();
  return all;
}

}  // namespace headrace::comparison
