#include "harness/engine/rank_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "harness/engine/phase_result.h"
#include "harness/record/ranks/wire_fields.h"
#include "harness/record/repetition_fields.h"

namespace headrace::engine {
namespace {

/// A process that hangs or ends is found by other means, so that work may take its time.
constexpr double kWhileAlive_s = 30 * 86400;

std::string packed(const Repetition& r) {
  wire::Writer out;
  wire::pack(out, r);
  return out.bytes();
}

Repetition unpacked(const std::string& bytes) {
  wire::Reader in(bytes);
  Repetition r;
  wire::unpack(in, r);
  return r;
}

/// Rates of `more` are added, each at the intervals of `to`.
void add_series(std::vector<SeriesPoint>& to, const std::vector<SeriesPoint>& more) {
  if (to.empty())
    to = more;
  else {
    for (SeriesPoint& p : to) {
      const auto at = std::min_element(more.begin(), more.end(), [&](const SeriesPoint& a, const SeriesPoint& b) {
        return std::abs(a.time_s - p.time_s) < std::abs(b.time_s - p.time_s);
      });
      if (at == more.end() || p.time_s > 1.1 * more.back().time_s) continue;
      p.bytes_per_s += at->bytes_per_s;
      p.operations_per_s += at->operations_per_s;
      p.latency_p99_ns = std::max(p.latency_p99_ns, at->latency_p99_ns);
    }
  }
}

/// Bytes (or operations) per second; 0 where nothing was done.
double rate_of(const RankPhase& r) {
  const auto work = static_cast<double>(r.bytes > 0 ? r.bytes : r.operations);
  return r.elapsed_s > 0 ? work / r.elapsed_s : 0;
}

/// The rates of a merged series, while every rank was at work.
std::vector<double> rates_of(const PhaseResult& phase) {
  std::vector<double> rates;
  for (const SeriesPoint& p : phase.series)
    if (p.time_s <= phase.first_finish_s) rates.push_back(phase.bytes > 0 ? p.bytes_per_s : p.operations_per_s);
  if (!rates.empty()) rates.pop_back();  // ends somewhere within its interval
  return rates;
}

template <class T>
void merge(Merge how, T& all, const T& more);

/// `more` is one more rank's: each member by its description.
template <Described T>
void merge_fields(T& all, const T& more) {
  each_field<T>([&](const auto& field) { merge(field.merge, field.of(all), field.of(more)); });
}

void add(Histogram& all, const Histogram& more) { all.merge(more); }
void add(std::vector<SeriesPoint>& all, const std::vector<SeriesPoint>& more) { add_series(all, more); }
void add(std::vector<Histogram>& all, const std::vector<Histogram>& more) {
  for (std::size_t i = 0; i < all.size() && i < more.size(); ++i) all[i].merge(more[i]);
}
template <class T>
void add(std::optional<T>& all, const std::optional<T>& more) {
  if (all && more)
    merge_fields(*all, *more);
  else if (more)
    all = more;
}
template <class T>
requires std::is_arithmetic_v<T>
void add(T& all, const T& more) { all += more; }

template <class T>
void merge(Merge how, T& all, const T& more) {
  if constexpr (std::is_arithmetic_v<T>) {
    if (how == Merge::most) all = std::max(all, more);
    if (how == Merge::least) all = std::min(all, more);
  }
  if constexpr (requires { add(all, more); })
    if (how == Merge::sum) add(all, more);
  if constexpr (requires { all.insert(all.end(), more.begin(), more.end()); })
    if (how == Merge::list) all.insert(all.end(), more.begin(), more.end());
}

/// Without the words about one rank alone.
PhaseResult without_own_words(PhaseResult phase) {
  each_field<PhaseResult>([&](const auto& field) {
    if (field.merge == Merge::none) field.of(phase) = field.of(PhaseResult{});
  });
  return phase;
}

/// All ranks' bytes and operations, the slowest one's time.
PhaseResult merged_phase(const std::vector<unsigned>& team, const std::vector<Repetition>& all, std::size_t number) {
  std::optional<PhaseResult> phase;
  std::vector<RankPhase> ranks;
  int slowest_rank = -1;
  std::vector<SeriesPoint> slowest_series;
  double slowest = INFINITY;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (number >= all[i].phases.size()) continue;
    const PhaseResult& one = all[i].phases[number];
    ranks.push_back({team[i], one.elapsed_s, one.first_finish_s, one.bytes, one.operations, one.errors});
    if (const double rate = rate_of(ranks.back()); rate > 0 && rate < slowest) {
      slowest = rate;
      slowest_rank = static_cast<int>(team[i]);
      slowest_series = one.series;
    }
    if (phase)
      merge_fields(*phase, one);
    else
      phase = without_own_words(one);
  }
  phase->ranks = std::move(ranks);
  phase->slowest_rank = slowest_rank;
  phase->slowest_series = std::move(slowest_series);
  phase->not_steady = why_not_steady(rates_of(*phase), phase->must_be);
  return std::move(*phase);
}

const std::string kPerSecond = "/s";

/// `seconds`: of a rate of one of several phases, the slowest rank's.
double merged_value(const MetricInfo& metric, AcrossRanks across, const std::vector<Repetition>& all, double& seconds) {
  seconds = 0;
  double sum = 0, low = INFINITY, high = -INFINITY, slowest_s = 0, first = NAN;
  for (const Repetition& r : all) {
    const auto at =
        std::find_if(r.metrics.begin(), r.metrics.end(), [&](const auto& m) { return m.name == metric.name; });
    if (at == r.metrics.end()) continue;
    if (std::isnan(first)) first = at->value;
    const double s = at->seconds > 0 ? at->seconds : elapsed_of(r.phases);
    slowest_s = std::max(slowest_s, s);
    seconds = std::max(seconds, at->seconds);
    sum += at->value * s;
    low = std::min(low, at->value);
    high = std::max(high, at->value);
  }
  const bool rate = metric.unit.size() >= 2 && metric.unit.ends_with(kPerSecond);
  if (across == AcrossRanks::first || metric.better == Better::neither) return first;
  if (across == AcrossRanks::add && rate && slowest_s > 0) return sum / slowest_s;
  return metric.better == Better::higher ? low : high;
}

}  // namespace

std::string RankSync::disturbed_together(const std::vector<unsigned>& team, const std::vector<Repetition>& all,
                                         const std::vector<PhaseResult>& merged) const {
  constexpr double kFew = 1.0 / 3;
  constexpr std::size_t kNamed = 3;
  std::size_t disturbed = 0;
  bool slowest = false;
  std::string whys;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].disturbance.disturbed) continue;
    const std::string why = ranks_.who(team[i]) + ": " + all[i].disturbance.why;
    if (++disturbed <= kNamed) whys += (whys.empty() ? "" : "; ") + why;
    slowest = slowest || std::ranges::any_of(
                             merged, [&](const PhaseResult& p) { return p.slowest_rank == static_cast<int>(team[i]); });
  }
  if (disturbed > kNamed) whys += fmt::format("; and {} more ranks", disturbed - kNamed);
  const bool many = static_cast<double>(disturbed) > kFew * static_cast<double>(all.size());
  return slowest || many ? whys : "";
}

void RankSync::say(const Step& step) const {
  if (alone() || !leads()) return;
  ranks_.broadcast("the next step", 0,
                   wire::Writer().put(step.kind).put(step.point).put(step.index).put(step.look).bytes(), kWhileAlive_s);
}

Step RankSync::hear() const {
  const std::string said = ranks_.broadcast("the next step", 0, "", kWhileAlive_s);
  wire::Reader in(said);
  Step step;
  in.get(step.kind);
  in.get(step.point);
  in.get(step.index);
  in.get(step.look);
  return step;
}

Word RankSync::agree(const std::string& what, const Word& own) const {
  if (alone()) return own;
  const auto all = ranks_.all_gather(what, wire::Writer().put(own.kind).put(own.why).bytes(), kWhileAlive_s);
  Word worst;
  for (unsigned r = 0; r < all.size(); ++r) {
    wire::Reader in(all[r]);
    Word word;
    in.get(word.kind);
    in.get(word.why);
    if (word.kind <= worst.kind) continue;
    worst = {word.kind, word.why.empty() ? "" : ranks_.who(r) + ": " + word.why};
  }
  return worst;
}

void RankSync::wait(const std::string& what) const {
  if (!alone()) ranks_.barrier(what, kWhileAlive_s);
}

Repetition RankSync::merged(Repetition own, const std::vector<unsigned>& team, AcrossRanks across,
                            const std::vector<MetricInfo>& catalogue, std::optional<unsigned> slowest) const {
  if (alone()) return own;
  const auto said = ranks_.gather("the results of a repetition", ranks_.everyone(), packed(own), kWhileAlive_s, 0);
  if (!leads()) return own;
  std::vector<Repetition> all;
  for (const unsigned rank : team) all.push_back(unpacked(said.at(rank)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Repetition& r = all[i];
    const std::string who = ranks_.who(team[i]) + ": ";
    if (own.status == RepetitionStatus::ok && r.status != RepetitionStatus::ok) {
      own.status = r.status;
      own.error = r.error.empty() ? "" : who + r.error;
    }
  }
  own.faults.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (PartFault& one : all[i].faults) one.part = ranks_.host(team[i]) + " " + one.part;
    add_faults(own.faults, all[i].faults);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {  // every rank's proof counts
    CacheProof& proof = all[i].cache;
    if (proof.required && !proof.proven) proof.why = ranks_.who(team[i]) + ": " + proof.why;
    if (i > 0) add(all.front().cache, proof);
  }
  own.cache = all.front().cache;  // its own: the leading rank is in every team
  std::size_t phases = 0;
  for (const Repetition& r : all) phases = std::max(phases, r.phases.size());
  own.phases.clear();
  for (std::size_t p = 0; p < phases; ++p) {
    own.phases.push_back(merged_phase(team, all, p));
    if (!slowest || *slowest >= all.size() || p >= all[*slowest].phases.size()) continue;
    own.phases.back().slowest_rank = static_cast<int>(team[*slowest]);
    own.phases.back().slowest_series = all[*slowest].phases[p].series;
  }
  own.disturbance.disturbed = false;
  own.disturbance.why.clear();
  if (const std::string why = disturbed_together(team, all, own.phases); !why.empty()) {
    own.disturbance.disturbed = true;
    own.disturbance.why = why;
  }
  const auto uneven = std::ranges::find_if(own.phases, [](const PhaseResult& p) { return !p.not_steady.empty(); });
  own.steady = uneven == own.phases.end();
  own.steady_why = own.steady ? "" : "all ranks together: " + uneven->not_steady;
  own.metrics.clear();
  if (own.status != RepetitionStatus::ok) return own;
  for (const MetricInfo& metric : catalogue) {
    double seconds = 0;
    const double value = merged_value(metric, across, all, seconds);
    if (std::isfinite(value)) own.metrics.push_back({metric.name, value, seconds});
  }
  return own;
}

std::vector<unsigned> team_of(const Ranks& ranks, bool one_per_node, unsigned clients) {
  const auto& places = ranks.places();
  std::vector<unsigned> team = ranks.everyone();
  if (one_per_node) std::erase_if(team, [&](unsigned r) { return places[r].local_rank != 0; });
  if (clients > team.size()) return {};
  if (clients > 0) {
    std::stable_sort(team.begin(), team.end(),
                     [&](unsigned a, unsigned b) { return places[a].local_rank < places[b].local_rank; });
    team.resize(clients);
    std::sort(team.begin(), team.end());
  }
  return team;
}

}  // namespace headrace::engine
