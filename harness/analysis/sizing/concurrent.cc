#include "harness/analysis/sizing/concurrent.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

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

/// What holds for one client holds for the sum.
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
    std::vector<std::pair<double, double>> others;  // what of it others timed something in
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

}  // namespace headrace::sizing
