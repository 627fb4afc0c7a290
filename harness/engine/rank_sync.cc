#include "harness/engine/rank_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "harness/engine/series.h"
#include "harness/ranks/wire.h"

namespace headrace::engine {
namespace {

/// Whoever hangs or ends is found by other means, so that work may take its time.
constexpr double kWhileAlive_s = 30 * 86400;

wire::Writer& put(wire::Writer& out, const Histogram& h) {
  const auto buckets = h.nonzero();
  out.put(h.min_ns()).put(h.max_ns()).put<std::uint64_t>(buckets.size());
  for (const Histogram::Bucket& b : buckets) out.put(b.index).put(b.count);
  return out;
}

Histogram histogram(wire::Reader& in) {
  const auto min_ns = in.get<std::uint64_t>(), max_ns = in.get<std::uint64_t>();
  std::vector<Histogram::Bucket> buckets;
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
    const auto index = in.get<std::uint32_t>();
    buckets.push_back({index, in.get<std::uint64_t>()});
  }
  return Histogram::from(buckets, min_ns, max_ns);
}

wire::Writer& put(wire::Writer& out, const std::vector<SeriesPoint>& series) {
  out.put<std::uint64_t>(series.size());
  for (const SeriesPoint& p : series)
    out.put(p.time_s).put(p.bytes_per_s).put(p.operations_per_s).put(p.latency_p99_ns);
  return out;
}

std::vector<SeriesPoint> series(wire::Reader& in) {
  std::vector<SeriesPoint> all;
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
    SeriesPoint p;
    in.get(p.time_s);
    in.get(p.bytes_per_s);
    in.get(p.operations_per_s);
    in.get(p.latency_p99_ns);
    all.push_back(p);
  }
  return all;
}

/// What was seen, of all that is known of a cache state; the rest every rank knows.
auto seen(auto& c) {
  return std::tie(c.required, c.proven, c.why, c.resident_before, c.resident_after, c.delivered_bytes, c.operations,
                  c.storage_bytes, c.device_bytes);
}

std::string packed(const Repetition& r) {
  wire::Writer out;
  out.put(r.status).put(r.error).put(r.steady).put(r.steady_why);
  std::apply([&out](const auto&... each) { (out.put(each), ...); }, seen(r.cache));
  out.put(r.disturbance.disturbed).put(r.disturbance.why);
  out.put<std::uint64_t>(r.metrics.size());
  for (const MetricValue& m : r.metrics) out.put(m.name).put(m.value).put(m.seconds);
  out.put<std::uint64_t>(r.phases.size());
  for (const PhaseResult& p : r.phases) {
    out.put(p.elapsed_s).put(p.first_finish_s).put(p.cpu_s).put(p.bytes).put(p.operations).put(p.errors).put(p.must_be);
    out.put(p.storage_bytes).put(p.device_bytes).put(p.worker_finish_s).put(p.worker_bytes);
    put(put(out, p.latency), p.series);
    out.put<std::uint64_t>(p.parts.size());
    for (const Histogram& h : p.parts) put(out, h);
  }
  return out.bytes();
}

Repetition unpacked(const std::string& bytes) {
  wire::Reader in(bytes);
  Repetition r;
  in.get(r.status);
  in.get(r.error);
  in.get(r.steady);
  in.get(r.steady_why);
  std::apply([&in](auto&... each) { (in.get(each), ...); }, seen(r.cache));
  in.get(r.disturbance.disturbed);
  in.get(r.disturbance.why);
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
    MetricValue m;
    in.get(m.name);
    in.get(m.value);
    in.get(m.seconds);
    r.metrics.push_back(std::move(m));
  }
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
    PhaseResult& p = r.phases.emplace_back();
    in.get(p.elapsed_s);
    in.get(p.first_finish_s);
    in.get(p.cpu_s);
    in.get(p.bytes);
    in.get(p.operations);
    in.get(p.errors);
    in.get(p.must_be);
    in.get(p.storage_bytes);
    in.get(p.device_bytes);
    in.get(p.worker_finish_s);
    in.get(p.worker_bytes);
    p.latency = histogram(in);
    p.series = series(in);
    for (auto parts = in.get<std::uint64_t>(); parts > 0; --parts) p.parts.push_back(histogram(in));
  }
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

/// Of a merged series, while every rank was at work.
std::vector<double> rates_of(const PhaseResult& phase) {
  std::vector<double> rates;
  for (const SeriesPoint& p : phase.series)
    if (p.time_s <= phase.first_finish_s) rates.push_back(phase.bytes > 0 ? p.bytes_per_s : p.operations_per_s);
  if (!rates.empty()) rates.pop_back();  // ends somewhere within its interval
  return rates;
}

/// All ranks' bytes and operations, the slowest one's time. No warm-up is cut: each rank would cut
/// another.
PhaseResult merged_phase(const std::vector<unsigned>& team, const std::vector<Repetition>& all, std::size_t number,
                         const PhaseResult& own) {
  PhaseResult phase = own;
  phase.steady_from_s = 0;
  phase.cut_bytes = phase.cut_operations = 0;
  phase.elapsed_s = phase.cpu_s = 0;
  phase.first_finish_s = 0;
  phase.bytes = phase.operations = phase.errors = phase.storage_bytes = phase.device_bytes = 0;
  phase.latency.clear();
  for (Histogram& h : phase.parts) h.clear();
  phase.worker_finish_s.clear();
  phase.worker_bytes.clear();
  phase.series.clear();
  double slowest = INFINITY;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (number >= all[i].phases.size()) continue;
    const PhaseResult& one = all[i].phases[number];
    phase.ranks.push_back({team[i], one.elapsed_s, one.first_finish_s, one.bytes, one.operations, one.errors});
    if (const double rate = rate_of(phase.ranks.back()); rate > 0 && rate < slowest) {
      slowest = rate;
      phase.slowest_rank = static_cast<int>(team[i]);
      phase.slowest_series = one.series;
    }
    phase.elapsed_s = std::max(phase.elapsed_s, one.elapsed_s);
    const bool first = phase.ranks.size() == 1;
    phase.first_finish_s = first ? one.first_finish_s : std::min(phase.first_finish_s, one.first_finish_s);
    phase.cpu_s += one.cpu_s;
    phase.bytes += one.bytes;
    phase.operations += one.operations;
    phase.errors += one.errors;
    phase.storage_bytes += one.storage_bytes;
    phase.device_bytes += one.device_bytes;
    phase.latency.merge(one.latency);
    for (std::size_t p = 0; p < phase.parts.size() && p < one.parts.size(); ++p) phase.parts[p].merge(one.parts[p]);
    phase.worker_finish_s.insert(phase.worker_finish_s.end(), one.worker_finish_s.begin(), one.worker_finish_s.end());
    phase.worker_bytes.insert(phase.worker_bytes.end(), one.worker_bytes.begin(), one.worker_bytes.end());
    add_series(phase.series, one.series);
  }
  phase.not_steady = why_not_steady(rates_of(phase), phase.must_be);
  return phase;
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
                            const std::vector<MetricInfo>& catalogue) const {
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
  for (std::size_t i = 0; i < all.size(); ++i) {  // every rank's proof counts
    CacheProof& proof = all[i].cache;
    if (proof.required && !proof.proven) proof.why = ranks_.who(team[i]) + ": " + proof.why;
    if (i > 0) add(all.front().cache, proof);
  }
  seen(own.cache) = seen(all.front().cache);
  std::size_t phases = 0;
  for (const Repetition& r : all) phases = std::max(phases, r.phases.size());
  std::vector<PhaseResult> merged_phases;
  for (std::size_t p = 0; p < phases; ++p) {
    const PhaseResult own_phase = p < own.phases.size() ? own.phases[p] : all.front().phases.at(p);
    merged_phases.push_back(merged_phase(team, all, p, own_phase));
  }
  own.phases = std::move(merged_phases);
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
