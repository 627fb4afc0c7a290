#include "harness/bringup/blame/fast_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "harness/base/median.h"
#include "harness/base/units.h"
#include "harness/bringup/blame/judge.h"
#include "harness/bringup/rails.h"

namespace headrace::bringup {
namespace {

constexpr double kWellAbove = 1.5;   // times the usual rate
constexpr double kFewestFast = 0.3;  // of the nodes: the search finds three bad ones in ten
constexpr double kFarOff = 20;       // standard deviations: single rates have heavy tails
constexpr double kNormal = 1.4826;   // from the median of deviations to their standard deviation

using Pair = std::pair<unsigned, unsigned>;

/// Of each pair, as multiples of the usual rate.
std::map<Pair, std::vector<double>> times_by_pair(const Record& record, unsigned rail) {
  std::map<Pair, std::vector<double>> all;
  const Replay replay(record);
  for (std::size_t s = 0; s < record.sessions.size(); ++s)
    for (const RoundRecord& round : record.sessions[s].rounds)
      for (const PairMeasured& one : round.pairs)
        if (one.rail == rail && replay.counts(s, one))
          all[std::minmax(one.a, one.b)].push_back(one.slower() / record.usual_rate[rail]);
  return all;
}

/// The least multiple of the usual rate that is neither noise nor a small difference.
double limit_of(const std::map<Pair, std::vector<double>>& times) {
  std::vector<double> all, off;
  for (const auto& [pair, some] : times) all.insert(all.end(), some.begin(), some.end());
  const double middle = statistics::median(all);
  for (const double one : all) off.push_back(std::abs(one - middle));
  return std::max(kWellAbove, 1 + kFarOff * kNormal * statistics::median(off));
}

std::string leaf_of(const Record& record, unsigned node) {
  const Host& host = record.nodes[node].host;
  return host.leaf_switch.empty() ? host.rack : host.leaf_switch;
}

std::optional<FastPair> fast_pair_of(const Record& record, unsigned rail) {
  const auto times = times_by_pair(record, rail);
  const double limit = limit_of(times);
  std::set<unsigned> nodes, fast;  // of fast pairs
  for (const auto& [pair, some] : times) {
    nodes.insert({pair.first, pair.second});
    if (statistics::median(some) > limit) fast.insert({pair.first, pair.second});
  }
  if (static_cast<double>(fast.size()) < kFewestFast * static_cast<double>(nodes.size())) return std::nullopt;
  // Sound nodes are fast with one another. Where fast nodes also meet slowly, as between switches, the way decides.
  const auto meet_slowly = [&](const auto& one) {
    return fast.contains(one.first.first) && fast.contains(one.first.second) && statistics::median(one.second) <= limit;
  };
  if (std::ranges::any_of(times, meet_slowly)) return std::nullopt;
  const auto explained_by_switch = [&](const Pair& pair, double median) {
    const std::string leaf = leaf_of(record, pair.first);
    if (leaf.empty() || leaf != leaf_of(record, pair.second)) return false;
    return std::ranges::none_of(times, [&](const auto& one) {
      const auto has = [&](unsigned node) { return one.first.first == node || one.first.second == node; };
      return has(pair.first) != has(pair.second) && leaf_of(record, one.first.first) == leaf &&
             leaf_of(record, one.first.second) == leaf && statistics::median(one.second) <= median / kWellAbove;
    });
  };
  std::optional<FastPair> fastest;
  for (const auto& [pair, some] : times)
    if (const double median = statistics::median(some);
        median > limit && (!fastest || median > fastest->times) && !explained_by_switch(pair, median))
      fastest = {pair.first, pair.second, rail, median};
  return fastest;
}

}  // namespace

std::optional<FastPair> fast_pair(const Record& record) {
  std::optional<FastPair> fastest;
  for (unsigned rail = 0; rail < record.usual_rate.size(); ++rail)
    if (record.usual_rate[rail] > 0)
      if (const auto one = fast_pair_of(record, rail); one && (!fastest || one->times > fastest->times)) fastest = one;
  return fastest;
}

std::string doubt_of(const Record& record) {
  const std::optional<FastPair> fast = fast_pair(record);
  if (!fast) return "";
  return fmt::format("{} to {} is {:.1f} times the usual rate of {}: that may be the rate of slow nodes",
                     end_name(record, fast->a, fast->rail), end_name(record, fast->b, fast->rail), fast->times,
                     format_quantity(record.usual_rate[fast->rail], Dimension::bytes_per_second));
}

}  // namespace headrace::bringup
