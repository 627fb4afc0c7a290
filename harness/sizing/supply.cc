#include "harness/sizing/supply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/scaling.h"
#include "harness/statistics/draws.h"
#include "harness/statistics/summary.h"

namespace headrace::sizing {
namespace {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;

constexpr std::size_t kFewestForBootstrap = 6;  // as median_interval()

/// Bounds of the sum of the medians of several clients: each client's repetitions are drawn anew
/// (10,000 draws, fixed seed); with too few of them, the sum of their ranges.
void bound_sum(std::span<const std::vector<double>> clients, Measurement& sum) {
  std::size_t fewest = clients.front().size();
  for (const auto& values : clients) {
    fewest = std::min(fewest, values.size());
    sum.median += statistics::median(values);
  }
  sum.repetitions = fewest;
  if (clients.size() == 1 || fewest < kFewestForBootstrap) {
    sum.is_range = fewest < kFewestForBootstrap;
    for (const auto& values : clients) {
      const statistics::Interval own = statistics::median_interval(values);
      sum.low += own.low;
      sum.high += own.high;
    }
    return;
  }
  constexpr int kDraws = 10000;
  statistics::Draws draws(1);
  std::vector<double> sums(kDraws), drawn;
  for (double& total : sums) {
    for (const auto& values : clients) {
      drawn.resize(values.size());
      for (double& value : drawn) value = values[draws.below(values.size())];
      total += statistics::median(drawn);
    }
  }
  std::sort(sums.begin(), sums.end());
  sum.low = sums[kDraws / 40];
  sum.high = sums[kDraws - 1 - kDraws / 40];
}

/// The point in each run of the session that is the same as `point`; nothing when a run lacks it.
std::vector<const StoredPoint*> same_point(const Session& session, const StoredPoint& point) {
  std::vector<const StoredPoint*> all;
  for (const StoredRun* run : session) {
    const auto found =
        std::find_if(run->points.begin(), run->points.end(), [&](const StoredPoint& p) {
          return p.workload == point.workload && p.params == point.params;
        });
    if (found == run->points.end()) return {};
    all.push_back(&*found);
  }
  return all;
}

/// Clients that a single run's point stands for: workloads that run on many nodes by themselves say
/// so.
unsigned clients_in(const StoredPoint& point) {
  const auto nodes = point.params.find("nodes");
  return nodes == point.params.end()
             ? 1
             : static_cast<unsigned>(std::clamp(std::atoi(nodes->second.c_str()), 1, 1 << 20));
}

}  // namespace

std::string_view to_string(Basis basis) {
  switch (basis) {
    case Basis::measured:
      return "measured";
    case Basis::modelled:
      return "modelled";
    case Basis::extrapolated:
      return "extrapolated";
  }
  return "";
}

std::string Measurement::name() const {
  return fmt::format("{}/{}.{}", run->id, point->id, metric);
}

std::vector<Session> sessions_of(std::span<const StoredRun> runs) {
  std::vector<const StoredRun*> order;
  for (const StoredRun& run : runs) order.push_back(&run);
  std::stable_sort(order.begin(), order.end(), [](const StoredRun* a, const StoredRun* b) {
    return a->started_utc < b->started_utc;
  });
  std::vector<Session> sessions;
  for (const StoredRun* run : order) {
    const double start = run->ended_s() - run->elapsed_s;
    const auto joins = [&](const Session& session) {
      return std::all_of(session.begin(), session.end(), [&](const StoredRun* other) {
        return other->config_hash == run->config_hash && other->node != run->node &&
               other->ended_s() > start;
      });
    };
    const auto found = std::find_if(sessions.begin(), sessions.end(), joins);
    if (found != sessions.end())
      found->push_back(run);
    else
      sessions.push_back({run});
  }
  return sessions;
}

std::vector<Measurement> measurements(std::span<const Session> sessions,
                                      std::span<const std::string> metrics,
                                      const std::string& cache) {
  std::vector<Measurement> found;
  for (const std::string& wanted : metrics) {
    const std::size_t dot = wanted.find('.');
    const std::string workload = wanted.substr(0, dot), metric = wanted.substr(dot + 1);
    for (const Session& session : sessions) {
      for (const StoredPoint& point : session.front()->points) {
        if (point.workload != workload || (!cache.empty() && point.cache != cache)) continue;
        std::vector<std::vector<double>> values;
        for (const StoredPoint* each : same_point(session, point)) {
          const StoredMetric* m = each->find(metric);
          if (m == nullptr || m->values.empty() || each->cache_unproven_share > 0) break;
          values.push_back(m->values);
        }
        if (values.empty() || values.size() < session.size()) continue;
        Measurement one;
        one.clients = static_cast<unsigned>(values.size()) * clients_in(point);
        one.run = session.front();
        one.point = &point;
        one.metric = metric;
        bound_sum(values, one);
        found.push_back(one);
      }
    }
    if (!found.empty()) break;
  }
  return found;
}

Curve::Curve(std::vector<Measurement> measured, bool per_node) : per_node_(per_node) {
  for (Measurement& m : measured) {
    const auto [at, is_new] = measured_.try_emplace(m.clients, m);
    if (!is_new && m.median > at->second.median) at->second = m;
  }
  if (measured_.size() < 2) return;
  const Measurement &last = measured_.rbegin()->second,
                    &before = std::next(measured_.rbegin())->second;
  saturated_ = stopped_growing(before.clients, before.median, last.clients, last.median);
}

Curve::Value Curve::at(double clients) const {
  const auto value = [](const Measurement& m) { return Value{m.median, m.low, m.high, false}; };
  const auto scaled = [](const Measurement& m, double by) {
    return Value{m.median * by, m.low * by, m.high * by, false};
  };
  const Measurement& last = largest();
  if (clients > last.clients) {
    Value more = saturated_ ? value(last) : scaled(last, clients / last.clients);
    more.extrapolated = !per_node_;
    return more;
  }
  const auto above = measured_.lower_bound(static_cast<unsigned>(std::ceil(clients)));
  if (above->first == clients) return value(above->second);
  // Fewer clients than were ever measured get no more each than those did.
  if (above == measured_.begin()) return scaled(above->second, clients / above->first);
  const Measurement &a = std::prev(above)->second, &b = above->second;
  const double share = (clients - a.clients) / (b.clients - a.clients);
  const auto between = [&](double low, double high) { return low + share * (high - low); };
  return {between(a.median, b.median), between(a.low, b.low), between(a.high, b.high), false};
}

}  // namespace headrace::sizing
