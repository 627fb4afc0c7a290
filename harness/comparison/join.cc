// Joining by a map: thousands of points stay thousands of look-ups.
#include "harness/comparison/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/config/sweep.h"

namespace headrace::comparison {
namespace {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;

/// The parameters in which two points differ: "workers 4 / 8".
std::string differing_params(const StoredPoint& a, const StoredPoint& b) {
  std::string text;
  const auto value = [](const StoredPoint& p, const std::string& key) {
    const auto found = p.params.find(key);
    return found == p.params.end() ? std::string("-") : found->second;
  };
  std::set<std::string> names;
  for (const StoredPoint* p : {&a, &b})
    for (const auto& [key, unused] : p->params) names.insert(key);
  for (const std::string& name : names)
    if (value(a, name) != value(b, name))
      text += fmt::format("{}{} {} / {}", text.empty() ? "" : ", ", name, value(a, name),
                          value(b, name));
  return text;
}

bool has_gate(const StoredPoint& point, const Options& options, const StoredRun& base) {
  return std::any_of(point.metrics.begin(), point.metrics.end(),
                     [&](const StoredMetric& m) { return is_gate(point, m.name, options, base); });
}

std::vector<const StoredRun*> runs_of(const Side& side) {
  std::vector<const StoredRun*> runs;
  for (const StoredRun& run : side.runs) runs.push_back(&run);
  return runs;
}

/// The keys in the order in which the points were measured.
std::vector<std::string> keys_in_order(const Side& side, const Options& options) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const StoredRun& run : side.runs)
    for (const StoredPoint& point : run.points)
      if (std::string key = key_of(point, options); seen.insert(key).second)
        keys.push_back(std::move(key));
  return keys;
}

}  // namespace

std::string key_of(const StoredPoint& point, const Options& options) {
  std::string key = point.workload;
  for (const auto& [name, value] : point.params)
    if (std::find(options.across.begin(), options.across.end(), name) == options.across.end())
      key += '\n' + name + '=' + value;
  return key;
}

PointIndex index_points(const std::vector<const StoredRun*>& runs, const Options& options) {
  PointIndex index;
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const StoredPoint& point : runs[r]->points)
      index[key_of(point, options)].push_back({r, &point});
  return index;
}

bool is_gate(const StoredPoint& point, const std::string& metric, const Options& options,
             const StoredRun& base) {
  const auto fits = [&](const std::string& glob) {
    return config::glob_match(glob, point.workload + "." + metric) ||
           config::glob_match(glob, point.id + "." + metric);
  };
  if (!options.gates.empty()) return std::any_of(options.gates.begin(), options.gates.end(), fits);
  bool any_need = false;
  for (const auto& need : base.judgements) {
    if (need.point.empty()) continue;
    any_need = true;
    if (need.point == point.id && need.metric == point.workload + "." + metric) return true;
  }
  return !any_need && !point.metrics.empty() && point.metrics.front().name == metric;
}

std::vector<Joined> join(const Side& base, const Side& other, const Options& options, Pair& pair) {
  const PointIndex a = index_points(runs_of(base), options),
                   b = index_points(runs_of(other), options);
  const std::vector<std::string> a_keys = keys_in_order(base, options),
                                 b_keys = keys_in_order(other, options);
  const auto left_out = [&](const std::vector<std::string>& keys, const PointIndex& mine,
                            const std::vector<std::string>& their_keys, const PointIndex& theirs,
                            const Side& side) {
    std::map<std::string, const StoredPoint*> by_name;
    for (const std::string& key : their_keys) {
      const StoredPoint* point = theirs.at(key).front().point;
      by_name.emplace(point->id, point);
    }
    for (const std::string& key : keys) {
      if (theirs.count(key) != 0) continue;
      const StoredPoint& point = *mine.at(key).front().point;
      const auto same_name = by_name.find(point.id);
      pair.not_compared.push_back(
          {point.id, "", side.label,
           same_name != by_name.end()
               ? "measured with other parameters: " + differing_params(point, *same_name->second)
               : "only in " + side.label,
           has_gate(point, options, base.first())});
    }
  };
  std::vector<Joined> joined;
  for (const std::string& key : a_keys)
    if (const auto found = b.find(key); found != b.end())
      joined.push_back({key, a.at(key), found->second});
  left_out(a_keys, a, b_keys, b, base);
  left_out(b_keys, b, a_keys, a, other);
  return joined;
}

}  // namespace headrace::comparison
