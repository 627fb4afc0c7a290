#include "harness/analysis/sizing/supply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "harness/judge/statistics/summary.h"

namespace headrace::sizing {

namespace {

using results::StoredPoint;
using results::StoredRepetition;
using results::StoredRun;

bool is_reported(const StoredRepetition& r) { return r.began_unix_s > 0; }
bool counts(const StoredRepetition& r) { return r.counted && r.ok; }

bool together(const StoredRepetition& a, const StoredRepetition& b) {
  const double both = std::min(a.ended_unix_s, b.ended_unix_s) - std::max(a.began_unix_s, b.began_unix_s),
               longer = std::max(a.ended_unix_s - a.began_unix_s, b.ended_unix_s - b.began_unix_s);
  return both > 0 && both >= kTogether * longer;
}

/// A bound of one client is one of the sum.
void add(const StoredRepetition& r, double value, double& to, judging::RecordedRepetition& sum) {
  to += value;
  sum.counted = sum.counted && r.counted;
  sum.disturbed = sum.disturbed || r.disturbed;
  sum.steady = sum.steady && r.steady;
}

}  // namespace

std::vector<Session> sessions_of(std::span<const StoredRun> runs) {
  std::vector<const StoredRun*> order;
  std::set<std::tuple<std::string, std::string, std::string>> known;
  for (const StoredRun& run : runs)
    if (known.insert({run.id, run.node, run.started_utc}).second) order.push_back(&run);
  std::stable_sort(order.begin(), order.end(),
                   [](const StoredRun* a, const StoredRun* b) { return a->started_utc < b->started_utc; });
  std::vector<Session> sessions;
  for (const StoredRun* run : order) {
    const double start = run->ended_s() - run->elapsed_s;
    const auto joins = [&](const Session& session) {
      return std::all_of(session.begin(), session.end(), [&](const StoredRun* other) {
        return other->config_hash == run->config_hash && other->node != run->node && other->ended_s() > start;
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

bool delivered_nothing(const StoredRepetition& r, const std::string& metric) {
  const auto value = r.metrics.find(metric);
  return value != r.metrics.end() && value->second == 0 && r.operations == 0;
}

judging::RecordedPoint sum_together(std::span<const StoredPoint* const> clients, const std::string& metric) {
  judging::RecordedPoint all = clients.front()->record;
  for (const StoredRepetition& first : clients.front()->each) {
    if (!first.ok || !is_reported(first) || !first.metrics.contains(metric) || delivered_nothing(first, metric))
      continue;
    judging::RecordedRepetition sum = first;
    const bool every = std::all_of(clients.begin() + 1, clients.end(), [&](const StoredPoint* other) {
      for (const StoredRepetition& r : other->each) {
        const auto value = r.metrics.find(metric);
        if (!r.ok || value == r.metrics.end() || !together(first, r) || delivered_nothing(r, metric)) continue;
        add(r, value->second, sum.metrics[metric], sum);
        return true;
      }
      return false;
    });
    if (every) all.repetitions.push_back(std::move(sum));
  }
  return all;
}

double share_beside_others(const StoredPoint& point, const StoredRun& of, const Session& session) {
  double timed = 0, beside = 0;
  for (const StoredRepetition& own : point.each) {
    if (!counts(own) || !is_reported(own)) continue;
    timed += own.ended_unix_s - own.began_unix_s;
    std::vector<std::pair<double, double>> others;  // the part of it in which others timed something
    for (const StoredRun* run : session) {
      if (run == &of) continue;
      for (const StoredPoint& p : run->points)
        for (const StoredRepetition& r : p.each) {
          const double from = std::max(own.began_unix_s, r.began_unix_s),
                       to = std::min(own.ended_unix_s, r.ended_unix_s);
          if (is_reported(r) && from < to) others.emplace_back(from, to);
        }
    }
    std::sort(others.begin(), others.end());
    double reached = own.began_unix_s;
    for (const auto& [from, to] : others) {
      beside += std::max(0.0, to - std::max(from, reached));
      reached = std::max(reached, to);
    }
  }
  return timed > 0 ? beside / timed : 0;
}

namespace {

using results::StoredMetric;
using statistics::SessionMean;

/// For a run that did not record its planned looks.
void plan_missing_looks(judging::RecordedPoint& point) {
  if (point.looks.looks.empty()) point.looks = statistics::plan_looks({5, 10, 15});
}

/// Disturbed, or not steady, in more than a third of the repetitions.
Reason doubt_of(const Evidence& e) {
  constexpr double kMost = 1.0 / 3;
  double counted = 0, disturbed = 0;
  for (const Taken& t : e.taken) {
    counted += t.counted;
    disturbed += t.counted && t.disturbed;
  }
  return disturbed > kMost * counted  ? Reason::disturbed
         : e.not_steady_share > kMost ? Reason::not_steady
                                      : Reason::none;
}

/// A neighbour that was there all the time.
void disturb(Evidence& e) {
  for (Taken& t : e.taken) t.disturbed = true;
}

SessionValue value_of(Evidence evidence) {
  SessionValue one;
  const std::vector<double> values = evidence.values();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const statistics::Bounded bounds = estimate(evidence);
  one.lowest = *low;
  one.highest = *high;
  one.repetitions = values.size();
  one.is_bounded = std::isfinite(bounds.low);
  one.value = {bounds.value, one.is_bounded ? bounds.low : *low, one.is_bounded ? bounds.high : *high};
  one.doubt = doubt_of(evidence);
  one.evidence = std::move(evidence);
  return one;
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

/// Collects the values of one metric over sessions.
class Collector {
 public:
  Collector(std::string workload, std::string metric, std::string cache, unsigned choices)
      : workload_(std::move(workload)), metric_(std::move(metric)), cache_(std::move(cache)), choices_(choices) {}

  void add(const Session& session) {
    const std::vector<const StoredPoint*> taken = session.size() > 1 ? add_together(session) : no_points();
    for (const StoredRun* run : session) {
      for (const StoredPoint& point : run->points) {
        if (std::find(taken.begin(), taken.end(), &point) != taken.end() || !is_good(point)) continue;
        // Neither alone nor together with the others.
        const bool beside = share_beside_others(point, *run, session) > 1 - kTogether;
        put(recorded(point), beside, *run, std::vector{&point});
      }
    }
  }
  std::vector<Measurement> take();

 private:
  using Clients = std::vector<const StoredPoint*>;
  static Clients no_points() { return {}; }

  /// Adds the simultaneous results of several runs of the session; returns their points.
  Clients add_together(const Session& session) {
    Clients taken;
    for (const StoredPoint& point : session.front()->points) {
      const Clients clients = same_point(session, point);
      if (clients.empty() || !std::ranges::all_of(clients, [&](const StoredPoint* p) { return is_good(*p); })) continue;
      if (put(sum_together(clients, metric_), false, *session.front(), clients))
        taken.insert(taken.end(), clients.begin(), clients.end());
    }
    return taken;
  }

  judging::RecordedPoint recorded(const StoredPoint& point) const {
    judging::RecordedPoint record = point.recorded();
    for (std::size_t i = 0; i < point.each.size(); ++i)
      if (delivered_nothing(point.each[i], metric_)) record.repetitions[i].metrics.erase(metric_);
    return record;
  }

  bool is_good(const StoredPoint& point) const {
    if (point.workload != workload_ || (!cache_.empty() && point.cache != cache_)) return false;
    return point.find(metric_) != nullptr && point.cache_unproven_share <= 0;
  }

  /// False: it has no value that counts.
  bool put(judging::RecordedPoint record, bool beside, const StoredRun& run, const Clients& clients) {
    plan_missing_looks(record);
    Evidence evidence = judging::gather(record, metric_, clients.front()->find(metric_)->unit, 1, choices_);
    if (evidence.values().empty()) return false;
    if (beside) disturb(evidence);
    SessionValue one = value_of(std::move(evidence));
    one.run = &run;
    one.point = clients.front();
    unsigned count = 0;
    for (const StoredPoint* p : clients) count += p->nodes;
    const auto found = std::find_if(found_.begin(), found_.end(), [&](const Measurement& m) {
      return m.clients == count && m.point().params == one.point->params;
    });
    // A run that measured the same point twice is still one session.
    if (found != found_.end() && found->sessions.back().run == &run) return true;
    Measurement& to = found != found_.end() ? *found : found_.emplace_back();
    to.clients = count;
    to.metric = metric_;
    to.sessions.push_back(std::move(one));
    return true;
  }

  std::string workload_, metric_, cache_;
  unsigned choices_;
  std::vector<Measurement> found_;
};

SessionMean together(std::span<const SessionValue> sessions) {
  std::vector<SessionMean> values;
  for (const SessionValue& s : sessions)
    if (s.is_used) values.push_back(s.value);
  return statistics::across_sessions(values);
}

/// The value of all sessions together: of those with enough repetitions, where there are any. Of those without a doubt,
/// where there are any.
void conclude(Measurement& m) {
  const bool many = m.sessions.size() >= statistics::kFewestSessions;
  const auto few = [](const SessionValue& s) { return !s.is_bounded; };
  const auto doubtful = [](const SessionValue& s) { return s.doubt != Reason::none || !s.is_used; };
  m.is_range = !many && std::ranges::all_of(m.sessions, few);
  for (SessionValue& s : m.sessions) s.is_used = many || m.is_range || s.is_bounded;
  m.lowest = HUGE_VAL;
  m.highest = -HUGE_VAL;
  for (const SessionValue& s : m.sessions) {
    if (!s.is_used) continue;
    m.lowest = std::min(m.lowest, s.lowest);
    m.highest = std::max(m.highest, s.highest);
  }
  m.mean_of_all = together(m.sessions).mean;
  if (std::ranges::all_of(m.sessions, doubtful))
    m.doubt = std::ranges::find(m.sessions, true, &SessionValue::is_used)->doubt;
  else
    for (SessionValue& s : m.sessions) s.is_used = !doubtful(s);
  const SessionMean all = together(m.sessions);
  m.mean = all.mean;
  m.low = m.is_range ? m.lowest : all.low;
  m.high = m.is_range ? m.highest : all.high;
}

std::vector<Measurement> Collector::take() {
  std::erase_if(found_, [](const Measurement& m) { return m.repetitions() < 2 && !m.sessions.front().is_bounded; });
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
                                      const std::string& cache, unsigned choices) {
  for (const std::string& wanted : metrics) {
    const std::size_t dot = wanted.find('.');
    Collector collector(wanted.substr(0, dot), wanted.substr(dot + 1), cache, choices);
    for (const Session& session : sessions) collector.add(session);
    if (auto found = collector.take(); !found.empty()) return found;
  }
  return {};
}

}  // namespace headrace::sizing
