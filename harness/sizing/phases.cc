// Demand and supply of each phase, and what they say of each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/units.h"
#include "harness/requirements/need_kinds.h"
#include "harness/requirements/way.h"
#include "harness/sizing/parts.h"

namespace headrace::sizing {
namespace {

using requirements::Applied;
using requirements::Job;
using requirements::Likeness;
using requirements::Need;
using requirements::Scope;

const Need* find(std::span<const Need> needs, std::string_view id, Scope scope) {
  for (const Need& need : needs)
    if (need.id == id && need.scope == scope) return &need;
  return nullptr;
}

/// How many times the mean a node writes at most: with the optimizer's state alone spread, the
/// ranks of the first replica write the weights too (E4), and as many of them as a node has share
/// its path.
double imbalance(const Job& job, std::span<const Need> needs) {
  const Need* largest = find(needs, "checkpoint.largest_shard", Scope::gpu);
  const Need* all = find(needs, "checkpoint.size", Scope::cluster);
  if (largest == nullptr || all == nullptr || all->required <= 0) return 1;
  const double model = job.parallelism.tensor * job.parallelism.pipeline, ranks = job.cluster.gpus_per_node,
               writers = std::min(ranks, model);
  const double weights =
      *job.model.parameters / model * std::min(job.model.weight_bytes, job.checkpoint->bytes_per_parameter);
  const double others = std::max(0.0, largest->required - weights);
  const double node = writers * largest->required + (ranks - writers) * others;
  return std::max(1.0, node / (all->required / job.cluster.nodes));
}

/// The point that tells most of the job, as judgements choose it; before that, of points that are as like it, the one
/// that the most clients measured. Nothing when none moves what the job moves.
const Measurement* planned(const Job& job, const std::vector<Measurement>& all) {
  const Measurement* best = nullptr;
  Likeness nearest;
  for (const Measurement& m : all) {
    const Likeness like = likeness(job, m);
    if (!like.answers) continue;
    const auto better = [&] {
      if (like.distance == nearest.distance && m.clients != best->clients) return m.clients > best->clients;
      return requirements::tells_more(like, m.median, nearest, best->median);
    };
    if (best != nullptr && !better()) continue;
    best = &m;
    nearest = like;
  }
  return best;
}

std::vector<Measurement> of_the_same_point(const std::vector<Measurement>& all, const Measurement& one) {
  std::vector<Measurement> same;
  for (const Measurement& m : all)
    if (m.point().workload == one.point().workload && m.point().params == one.point().params) same.push_back(m);
  return same;
}

/// Did what does as the job does give nothing but values whose state was not proven? Then no other way answers for it.
bool only_unproven_as_job(const Job& job, const Measurement& used, std::span<const Session> sessions) {
  const results::StoredPoint& other = used.point();
  const Likeness own = likeness(job, used);
  if (!own.has_way || own.is_as_job()) return false;
  const auto as_job = [&](const results::StoredPoint& point) {
    if (point.workload != other.workload || point.cache != other.cache || point.cache_unproven_share <= 0) return false;
    const Likeness like = requirements::likeness(requirements::way_of(job), point.workload, used.metric, point.params);
    return like.answers && like.is_as_job();
  };
  for (const Session& session : sessions)
    for (const results::StoredRun* run : session)
      if (std::ranges::any_of(run->points, as_job)) return true;
  return false;
}

std::string told(double value, const std::string& unit) { return format_in_unit(value, unit); }

/// What decides a phase: the supply with its bounds, what it is built on, and how it was measured.
struct Grounds {
  Curve::Value all;
  Likeness like;
  double need = 0;

  bool is_range() const { return all.from->is_range || all.and_from->is_range; }
  Reason doubt() const { return all.from->doubt != Reason::none ? all.from->doubt : all.and_from->doubt; }
  /// As much as the supply is of what was measured.
  double share() const { return all.from == all.and_from ? all.median / all.from->median : 1; }
  double lowest() const { return std::min(all.from->lowest, all.and_from->lowest) * share(); }
  bool meets() const { return all.low >= need; }
  bool misses() const { return all.high < need; }
  /// Would these sessions decide if others were sure to give the same?
  bool decides_alone() const {
    if (all.from != all.and_from || all.from->sessions.size() > 1) return false;
    const statistics::SessionMedian& own = all.from->sessions.front().value;
    return own.low * share() >= need || own.high * share() < need;
  }
  /// Do the sessions that were left out as doubtful say otherwise?
  bool is_contested() const { return std::min(all.from->median_of_all, all.and_from->median_of_all) * share() < need; }
};

/// Rules of docs/statistics.md, "Sizing", in their order.
void decide(const Grounds& g, Phase& p) {
  p.outcome = Outcome::inconclusive;
  p.reason = Reason::none;
  const bool extrapolated = g.all.basis == Basis::extrapolated;
  if (g.is_range()) {
    p.reason = Reason::few_reps;
  } else if (g.doubt() != Reason::none) {
    if (g.meets() && g.lowest() >= g.need && !extrapolated && !g.like.more)
      p.outcome = Outcome::pass;
    else
      p.reason = g.doubt();
  } else if (g.misses()) {
    if (g.like.less)
      p.reason = Reason::other_settings;
    else
      p.outcome = Outcome::fail;
  } else if (extrapolated) {
    p.reason = Reason::extrapolated;
  } else if (g.meets()) {
    if (g.like.more)
      p.reason = Reason::other_settings;
    else if (g.is_contested())
      p.reason = Reason::disturbed;
    else
      p.outcome = Outcome::pass;
  } else {
    p.reason = g.decides_alone() ? Reason::single_session : Reason::straddles;
  }
}

void tell(const Job& job, const Grounds& g, Phase& p) {
  const std::string gives = told(p.supply.value.median, p.unit), needs = told(p.demand.need, p.unit);
  const auto is = [&](Reason reason) { return p.reason == reason; };
  p.next_step.clear();
  if (p.outcome == Outcome::pass) {
    p.explanation = fmt::format("Gives {}; needs {}.", gives, needs);
    if (g.doubt() != Reason::none)
      p.explanation += fmt::format(" It was {} while it was measured; even the worst repetition clears the need.",
                                   to_string(g.doubt()));
  } else if (p.outcome == Outcome::fail) {
    p.explanation =
        fmt::format("Gives {}, even at best {}; needs {}.", gives, told(p.supply.value.high, p.unit), needs);
  } else if (is(Reason::few_reps)) {
    p.explanation = fmt::format("Gave {} in {} repetition{} and {} are needed: a bound takes 5 or more.", gives,
                                p.supply.repetitions, p.supply.repetitions == 1 ? "" : "s", needs);
    p.next_step = "Measure with more repetitions: --looks 5,10,15";
  } else if (is(Reason::disturbed) || is(Reason::not_steady)) {
    p.explanation = fmt::format("Gave {} and {} are needed, but it was {} while it was measured.", gives, needs,
                                is(Reason::disturbed) ? "disturbed" : "not steady");
    p.next_step = "Measure again with nothing else running, and give all run folders.";
  } else if (is(Reason::extrapolated)) {
    p.explanation =
        fmt::format("Would give {} if every node got what was measured ({} of {} nodes measured); needs {}.", gives,
                    p.supply.clients, job.cluster.nodes, needs);
    p.next_step = fmt::format("Measure with up to {} nodes at once: mpirun -n {} headrace run ...", job.cluster.nodes,
                              job.cluster.nodes);
  } else if (is(Reason::other_settings)) {
    p.explanation = fmt::format("Gives {}; needs {}; but it was measured with {}, which {}.", gives, needs,
                                fmt::join(p.supply.differs, "; "), g.like.more ? "may get more" : "may get less");
    p.next_step = "Measure as the job reads.";
  } else if (is(Reason::single_session)) {
    p.explanation = fmt::format(
        "One session gave {}; needs {}. At another time it may be {} to {}, sessions of one system "
        "lie apart.",
        gives, needs, told(p.supply.value.low, p.unit), told(p.supply.value.high, p.unit));
    p.next_step = "Measure again at another time, and give all run folders.";
  } else {
    p.explanation = fmt::format("Gives {} to {}; needs {}, which lies between.", told(p.supply.value.low, p.unit),
                                told(p.supply.value.high, p.unit), needs);
    p.next_step = "Measure again at other times, and give all run folders.";
  }
}

}  // namespace

Likeness likeness(const Job& job, const Measurement& m) {
  return requirements::likeness(requirements::way_of(job), m.point().workload, m.metric, m.point().params);
}

Derived derived(const Applied& applied) {
  return {std::string(applied.formula->id), std::string(applied.formula->equation),
          substituted(*applied.formula, applied.arguments), applied.value(), std::string(applied.formula->unit)};
}

Applied gpus_fed(double supply, double per_gpu, double safety) {
  return requirements::apply(
      "G8",
      {{"lower_bound_bytes_per_s", supply}, {"demand_per_gpu_bytes_per_s", per_gpu}, {"safety_margin_ratio", safety}});
}

Derived fed_from(const Bounded& supply, double per_gpu, double safety, const std::string& unit) {
  return {"G8", std::string(requirements::find_formula("G8")->equation),
          fmt::format("floor({} / ({} * {}))", told(supply.low, unit), safety, told(per_gpu, unit)),
          gpus_fed(supply.low, per_gpu, safety).value(), "count"};
}

Bounded gpus_fed(const Bounded& supply, double per_gpu, double safety) {
  return {gpus_fed(supply.median, per_gpu, safety).value(), gpus_fed(supply.low, per_gpu, safety).value(),
          gpus_fed(supply.high, per_gpu, safety).value()};
}

std::span<const PhaseKind> phase_kinds() {
  static const std::vector<PhaseKind> kKinds = [] {
    std::vector<PhaseKind> all;
    for (const requirements::NeedKind& need : requirements::need_kinds())
      if (const requirements::JobPhase& p = need.phase; !p.name.empty())
        all.push_back({p.name, p.title, need.id, need.owner == requirements::Owner::node, p.feeds_gpus, p.grows});
    return all;
  }();
  return kKinds;
}

const PhaseKind& kind_of(std::string_view phase) {
  const auto all = phase_kinds();
  return *std::find_if(all.begin(), all.end(), [&](const PhaseKind& k) { return k.phase == phase; });
}

std::optional<Demand> demand_of(const Job& job, std::span<const Need> needs, const PhaseKind& kind) {
  const Need* need = find(needs, kind.need, kind.per_node ? Scope::node : Scope::cluster);
  if (need == nullptr || need->required <= 0) return std::nullopt;
  const double nodes = kind.per_node ? job.cluster.nodes : 1;
  const double largest = kind.phase == "checkpoint_save" ? imbalance(job, needs) : 1;
  Demand demand;
  demand.required = need->required * nodes * largest;
  demand.need = need->need * nodes * largest;
  demand.per_gpu = demand.required * (1 + need->uncertainty) / job.cluster.gpus();
  demand.largest_writer = largest;
  demand.grows_with_gpus = kind.grows;
  demand.from = {need->formula, need->equation, need->substituted, demand.required, need->unit};
  if (largest > 1) {
    demand.from.formula += " of E4";
    demand.from.equation = fmt::format("({}) * k_node / (K / N)", demand.from.equation);
    demand.from.substituted = fmt::format("({}) * {:.3g}", demand.from.substituted, largest);
  }
  return demand;
}

std::optional<Phase> phase_of(const Job& job, std::span<const Need> needs, const PhaseKind& kind,
                              std::span<const Session> sessions) {
  const auto demand = demand_of(job, needs, kind);
  if (!demand) return std::nullopt;
  const Need* at_node = find(needs, kind.need, Scope::node);
  if (at_node == nullptr) return std::nullopt;
  Phase p;
  p.phase = kind.phase;
  p.title = kind.title;
  p.need = kind.need;
  p.unit = at_node->unit;
  p.demand = *demand;
  auto metrics = at_node->measured_by;
  // Opens that happen between reads say nothing of how many there could be.
  for (const std::string& bound : at_node->lower_bounds) std::erase(metrics, bound);
  p.alternatives = measurements(sessions, metrics, at_node->cache);
  const Measurement* used = planned(job, p.alternatives);
  if (used == nullptr) return p;
  if (only_unproven_as_job(job, *used, sessions)) {
    p.alternatives.clear();
    return p;
  }
  p.curve.emplace(of_the_same_point(p.alternatives, *used), kind.per_node);
  p.used = p.curve->largest();
  judge_phase(job, p);
  return p;
}

std::vector<Phase> phases_of(const Job& job, std::span<const Need> needs, std::span<const Session> sessions) {
  std::vector<Phase> all;
  for (const PhaseKind& kind : phase_kinds())
    if (auto phase = phase_of(job, needs, kind, sessions)) all.push_back(std::move(*phase));
  return all;
}

std::optional<Bounded> gpus_fed(const Job& job, std::span<const Phase> phases) {
  const double gpus = job.cluster.gpus();
  Bounded all{gpus, gpus, gpus};
  bool any = false;
  for (const Phase& p : phases) {
    if (!p.curve || !p.gpus_fed) continue;
    any = true;
    all.median = std::min(all.median, p.gpus_fed->median);
    all.low = std::min(all.low, p.gpus_fed->low);
    all.high = std::min(all.high, p.gpus_fed->high);
  }
  return any ? std::optional(all) : std::nullopt;
}

void judge_phase(const Job& job, Phase& p) {
  const double nodes = job.cluster.nodes;
  const Measurement& m = p.curve->largest();
  const Grounds grounds{p.curve->at(nodes), likeness(job, m), p.demand.need};
  const Curve::Value& all = grounds.all;
  p.supply.value = {all.median, all.low, all.high};
  p.supply.clients = m.clients;
  p.supply.per_client = m.per_client();
  p.supply.repetitions = m.repetitions();
  p.supply.sessions = m.sessions.size();
  p.supply.is_range = grounds.is_range();
  p.supply.run = m.run().id;
  p.supply.point = m.point().id;
  p.supply.metric = fmt::format("{}.{}", m.point().workload, m.metric);
  p.supply.differs = grounds.like.differs;
  p.supply.basis = all.basis;
  p.supply.from = {"G6", std::string(requirements::find_formula("G6")->equation),
                   fmt::format("min({} * {}, {}, not known)", nodes, told(m.per_client(), p.unit),
                               p.curve->saturated() ? told(m.median, p.unit) : "not known"),
                   all.median, p.unit};
  const auto ratio = [&](double supply) { return supply / p.demand.need; };
  p.headroom = {ratio(all.median), ratio(all.low), ratio(all.high)};
  if (p.demand.grows_with_gpus) {
    p.gpus_fed = gpus_fed(p.supply.value, p.demand.per_gpu, job.safety);
    p.fed_from = fed_from(p.supply.value, p.demand.per_gpu, job.safety, p.unit);
  }
  decide(grounds, p);
  tell(job, grounds, p);
}

}  // namespace headrace::sizing
