#include "harness/analysis/comparison/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/base/glob.h"

namespace headrace::comparison {
namespace {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;

constexpr std::size_t kMostReported = 8;

/// The text that the glob matches, as "place.metric".
std::vector<std::string> matches(const std::string& glob, const MetricNames& known) {
  std::vector<std::string> found;
  for (const auto& [place, metrics] : known)
    for (const std::string& metric : metrics)
      if (std::string name = place + "." + metric; glob_match(glob, name)) found.push_back(std::move(name));
  return found;
}

/// A glob like it that matches something, or "": each half is mended by the nearest name.
std::string mended(const std::string& glob, const MetricNames& known) {
  const std::size_t dot = glob.rfind('.');
  const std::string place = dot == glob.npos ? "*" : glob.substr(0, dot);
  const std::string metric = dot == glob.npos ? glob : glob.substr(dot + 1);
  std::vector<std::string> places, metrics;
  for (const auto& [name, theirs] : known) {
    places.push_back(name);
    metrics.insert(metrics.end(), theirs.begin(), theirs.end());
  }
  for (const std::string& there : {place, nearest(place, places)})
    for (const std::string& what : {metric, nearest(metric, metrics)})
      if (!there.empty() && !what.empty())
        if (std::string near = there + "." + what; !matches(near, known).empty()) return near;
  return "";
}

/// The metrics of the place that the glob names, else of all.
std::string describe(const std::string& glob, const MetricNames& known) {
  std::vector<std::string> names = matches(glob.substr(0, glob.rfind('.')) + ".*", known);
  if (names.empty()) names = matches("*", known);
  const std::size_t more = names.size() - std::min(names.size(), kMostReported);
  names.resize(names.size() - more);
  return headrace::join(names) + (more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

void require_matches(std::span<const std::string> gates, const MetricNames& known) {
  std::string problems;
  for (const std::string& glob : gates) {
    if (!matches(glob, known).empty()) continue;
    const std::string near = mended(glob, known);
    problems += fmt::format("{}--gate '{}' matches no metric{} (metrics: {})", problems.empty() ? "" : "\n", glob,
                            near.empty() ? "" : "; did you mean '" + near + "'?", describe(glob, known));
  }
  if (!problems.empty()) throw UsageError(problems);
}

void require_matches(std::span<const std::string> gates, std::span<const Side> sides) {
  if (gates.empty()) return;
  MetricNames known;
  for (const Side& side : sides)
    for (const StoredRun& run : side.runs)
      for (const StoredPoint& point : run.points)
        for (const StoredMetric& metric : point.metrics)
          for (const std::string& place : {point.workload, point.id}) known[place].insert(metric.name);
  require_matches(gates, known);
}

}  // namespace headrace::comparison
