#include "harness/sizing/supply.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/statistics/comparison.h"
#include "harness/statistics/summary.h"

namespace headrace::sizing {
namespace {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;
using statistics::SessionMedian;

const std::vector<unsigned> kLooks = {5, 10, 15};

/// The rank that bounds the median of so many repetitions, whichever look ended them.
unsigned rank_of(std::size_t repetitions) {
  static const statistics::LookPlan plan = statistics::plan_looks(kLooks);
  return statistics::rank_for(plan, repetitions);
}

SessionValue value_of(const std::vector<double>& values) {
  SessionValue one;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  one.lowest = *low;
  one.highest = *high;
  one.repetitions = values.size();
  one.value = {statistics::median(values), *low, *high};
  if (const unsigned rank = rank_of(values.size()); rank > 0) {
    const statistics::Bounds bounds = statistics::order_bounds(values, rank);
    one.value.low = bounds.low;
    one.value.high = bounds.high;
  }
  return one;
}

/// What was disturbed, or never became steady, in more than a third of its repetitions.
Reason doubt_of(std::span<const StoredPoint* const> clients) {
  constexpr double kMost = 1.0 / 3;
  const auto any = [&](double StoredPoint::*share) {
    return std::any_of(clients.begin(), clients.end(), [&](const StoredPoint* p) { return p->*share > kMost; });
  };
  return any(&StoredPoint::disturbed_share)    ? Reason::disturbed
         : any(&StoredPoint::not_steady_share) ? Reason::not_steady
                                               : Reason::none;
}

/// The point in each run of the session that is the same as `point`; nothing when a run lacks it.
std::vector<const StoredPoint*> same_point(const Session& session, const StoredPoint& point) {
  std::vector<const StoredPoint*> all;
  for (const StoredRun* run : session) {
    const auto found = std::find_if(run->points.begin(), run->points.end(), [&](const StoredPoint& p) {
      return p.workload == point.workload && p.params == point.params;
    });
    if (found == run->points.end()) return {};
    all.push_back(&*found);
  }
  return all;
}

/// Collects what sessions say of one metric.
class Collector {
 public:
  Collector(std::string workload, std::string metric, std::string cache)
      : workload_(std::move(workload)), metric_(std::move(metric)), cache_(std::move(cache)) {}

  void add(const Session& session) {
    std::vector<const StoredPoint*> taken;
    if (session.size() > 1) {
      for (const StoredPoint& point : session.front()->points) {
        const auto clients = same_point(session, point);
        if (clients.empty() ||
            !std::all_of(clients.begin(), clients.end(), [&](const StoredPoint* p) { return is_good(*p); }))
          continue;
        const auto sums = sums_together(clients, metric_);
        if (sums.empty()) continue;
        put(value_of(sums), doubt_of(clients), *session.front(), clients);
        taken.insert(taken.end(), clients.begin(), clients.end());
      }
    }
    for (const StoredRun* run : session) {
      for (const StoredPoint& point : run->points) {
        const StoredPoint* const one = &point;
        if (std::find(taken.begin(), taken.end(), one) != taken.end() || !is_good(point)) continue;
        // Neither alone nor together with the others.
        const bool beside = share_beside_others(point, *run, session) > 1 - kTogether;
        put(value_of(point.find(metric_)->values), beside ? Reason::disturbed : doubt_of(std::span(&one, 1)), *run,
            std::span(&one, 1));
      }
    }
  }
  std::vector<Measurement> take();

 private:
  bool is_good(const StoredPoint& point) const {
    if (point.workload != workload_ || (!cache_.empty() && point.cache != cache_)) return false;
    const StoredMetric* m = point.find(metric_);
    return m != nullptr && !m->values.empty() && point.cache_unproven_share <= 0;
  }
  void put(SessionValue one, Reason doubt, const StoredRun& run, std::span<const StoredPoint* const> clients) {
    one.run = &run;
    one.point = clients.front();
    one.doubt = doubt;
    unsigned count = 0;
    for (const StoredPoint* p : clients) count += p->nodes;
    const auto found = std::find_if(found_.begin(), found_.end(), [&](const Measurement& m) {
      return m.clients == count && m.point().params == one.point->params;
    });
    // A run that measured the same point twice is still one session.
    if (found != found_.end() && found->sessions.back().run == &run) return;
    Measurement& to = found != found_.end() ? *found : found_.emplace_back();
    to.clients = count;
    to.metric = metric_;
    to.sessions.push_back(one);
  }

  std::string workload_, metric_, cache_;
  std::vector<Measurement> found_;
};

/// What all sessions say together: of those with enough repetitions, where there are any; of those
/// without a doubt, where there are any.
void conclude(Measurement& m) {
  std::vector<SessionValue> used = m.sessions;
  const bool many = used.size() >= statistics::kFewestSessions;
  const auto few = [](const SessionValue& s) { return rank_of(s.repetitions) == 0; };
  m.is_range = !many && std::all_of(used.begin(), used.end(), few);
  if (!many && !m.is_range) std::erase_if(used, few);
  m.lowest = used.front().lowest;
  m.highest = used.front().highest;
  for (const SessionValue& s : used) {
    m.lowest = std::min(m.lowest, s.lowest);
    m.highest = std::max(m.highest, s.highest);
  }
  const auto together = [](std::span<const SessionValue> sessions) {
    std::vector<SessionMedian> values;
    for (const SessionValue& s : sessions) values.push_back(s.value);
    return statistics::across_sessions(values);
  };
  m.median_of_all = together(used).median;
  const auto doubtful = [](const SessionValue& s) { return s.doubt != Reason::none; };
  if (std::all_of(used.begin(), used.end(), doubtful))
    m.doubt = used.front().doubt;
  else
    std::erase_if(used, doubtful);
  const SessionMedian all = together(used);
  m.median = all.median;
  m.low = m.is_range ? m.lowest : all.low;
  m.high = m.is_range ? m.highest : all.high;
}

std::vector<Measurement> Collector::take() {
  for (Measurement& m : found_) conclude(m);
  return std::move(found_);
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

std::size_t Measurement::repetitions() const {
  std::size_t all = 0;
  for (const SessionValue& one : sessions) all += one.repetitions;
  return all;
}

std::string Measurement::name() const { return fmt::format("{}/{}.{}", run().id, point().id, metric); }

std::vector<Measurement> measurements(std::span<const Session> sessions, std::span<const std::string> metrics,
                                      const std::string& cache) {
  for (const std::string& wanted : metrics) {
    const std::size_t dot = wanted.find('.');
    Collector collector(wanted.substr(0, dot), wanted.substr(dot + 1), cache);
    for (const Session& session : sessions) collector.add(session);
    if (auto found = collector.take(); !found.empty()) return found;
  }
  return {};
}

}  // namespace headrace::sizing
