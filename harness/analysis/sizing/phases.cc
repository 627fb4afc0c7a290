// Demand and supply of each phase, and their comparison.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "harness/analysis/sizing/parts.h"
#include "harness/base/units.h"
#include "harness/engine/explain/questions.h"
#include "harness/job/largest_writer.h"
#include "harness/job/need_kinds.h"
#include "harness/job/way.h"
#include "harness/machine/mount.h"

namespace headrace::sizing {
namespace {

using job::Applied;
using job::Job;
using job::Likeness;
using job::Need;
using job::Scope;

const Need* find(std::span<const Need> needs, std::string_view id, Scope scope) {
  for (const Need& need : needs)
    if (need.id == id && need.scope == scope) return &need;
  return nullptr;
}

/// The point that reports most of the job, as judgements choose it. Before that, of points that are as like it, the one
/// that the most clients measured. Nothing when none moves what the job moves.
const Measurement* planned(const Job& job, const std::vector<Measurement>& all) {
  const Measurement* best = nullptr;
  Likeness nearest;
  for (const Measurement& m : all) {
    const Likeness like = likeness(job, m);
    if (!like.answers) continue;
    const auto better = [&] {
      if (like.distance == nearest.distance && m.clients != best->clients) return m.clients > best->clients;
      return job::says_more(like, m.mean, nearest, best->mean);
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

/// As many points of a run as could answer the need equally well, as for its verdict.
unsigned choices(const Job& job, const Need& need, std::span<const Session> sessions) {
  unsigned most = 1;
  for (const Session& session : sessions) {
    std::vector<judging::RecordedPoint> points;
    for (const results::StoredPoint& point : session.front()->points) points.push_back(point.record);
    for (const judging::Question& q : engine::questions(&job, std::span(&need, 1), points, 1))
      most = std::max(most, q.choices);
  }
  return most;
}

/// Did what does as the job does give nothing but values whose state was not proven? Then no other way answers for it.
bool only_unproven_as_job(const Job& job, const Measurement& used, std::span<const Session> sessions) {
  const results::StoredPoint& other = used.point();
  const Likeness own = likeness(job, used);
  if (!own.has_way || own.is_as_job()) return false;
  const auto as_job = [&](const results::StoredPoint& point) {
    if (point.workload != other.workload || point.cache != other.cache || point.cache_unproven_share <= 0) return false;
    const Likeness like = job::likeness(job::way_of(job), point.workload, used.metric, point.params);
    return like.answers && like.is_as_job();
  };
  for (const Session& session : sessions)
    for (const results::StoredRun* run : session)
      if (std::ranges::any_of(run->points, as_job)) return true;
  return false;
}

std::string describe(double value, const std::string& unit) { return format_in_unit(value, unit); }

/// What decides a phase: the supply with its bounds, what it is built on, and how it was measured.
struct Grounds {
  Curve::Value all;
  Likeness like;
  double need = 0;

  bool is_range() const { return all.from->is_range || all.and_from->is_range; }
  Reason doubt() const { return all.from->doubt != Reason::none ? all.from->doubt : all.and_from->doubt; }
  /// The supply as a share of the measured rate.
  double share(const Measurement& m) const { return m.mean > 0 ? all.mean / m.mean : 1; }
  bool meets() const { return all.low >= need; }
  bool misses() const { return all.high < need; }
  /// The verdicts on the sessions that decide, as `judge` gives them.
  std::vector<Judgement> judged_sessions() const {
    std::vector<Judgement> judged;
    std::vector<const Measurement*> measured{all.from};
    if (all.and_from != all.from) measured.push_back(all.and_from);
    for (const Measurement* m : measured) {
      for (const SessionValue& s : m->sessions) {
        if (!s.is_used) continue;
        judged.emplace_back();
        judged.back().need = need / share(*m);
        judge(s.evidence, judged.back());
      }
    }
    return judged;
  }
  /// Why the repetitions of a session decide nothing, regardless of their mean. Of many sessions each is one value.
  Reason against(std::span<const Judgement> judged) const {
    const bool many = judged.size() >= statistics::kFewestSessions;
    for (const Judgement& j : judged) {
      if (j.reason == Reason::two_humped && many && misses()) continue;
      if (j.reason == Reason::disturbed && !meets() && !misses()) continue;  // that decides nothing anyway
      if (j.reason == Reason::disturbed || j.reason == Reason::not_steady || j.reason == Reason::two_humped)
        return j.reason;
    }
    return Reason::none;
  }
  /// Would this session decide if others were sure to give the same?
  static bool decides_alone(std::span<const Judgement> judged) {
    return judged.size() == 1 && judged.front().outcome != Outcome::inconclusive;
  }
  /// Do the left-out doubtful sessions contradict?
  bool is_contested() const {
    return std::min(all.from->mean_of_all * share(*all.from), all.and_from->mean_of_all * share(*all.and_from)) < need;
  }
};

/// Rules of docs/explanation/sizing.md, in their order.
void decide(const Grounds& g, Phase& p) {
  p.outcome = Outcome::inconclusive;
  p.reason = Reason::none;
  const bool extrapolated = g.all.basis == Basis::extrapolated || !p.whole;
  const std::vector<Judgement> judged = g.judged_sessions();
  if (p.local && !p.whole) {
    p.reason = Reason::extrapolated;
  } else if (g.is_range()) {
    p.reason = Reason::few_reps;
  } else if (const Reason reason = g.against(judged); reason != Reason::none) {
    p.reason = reason;
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
    p.reason = Grounds::decides_alone(judged) ? Reason::single_session : Reason::straddles;
  }
}

std::string nodes_of(double count) { return fmt::format("{:.0f} node{}", count, count == 1 ? "" : "s"); }

/// The evidence of fewer nodes than the job has.
std::string part_in_words(const Job& job, const Phase& p) {
  const char* const those = p.nodes == 1 ? "that node" : "those nodes";
  const std::string before = fmt::format("Measured on {:.0f} of {}{}", p.nodes, nodes_of(job.cluster.nodes),
                                         p.local ? ", on local storage" : "");
  if (p.outcome == Outcome::fail)
    return fmt::format("{}: gives {}, even at best {}; {} need{} {}. With more nodes each gets no more.", before,
                       describe(p.supply.value.mean, p.unit), describe(p.supply.value.high, p.unit), those,
                       p.nodes == 1 ? "s" : "", describe(p.need_here(), p.unit));
  const char* const enough = p.headroom.low >= 1 ? "enough" : p.headroom.high < 1 ? "not enough" : "perhaps enough";
  return fmt::format("{}: {} for {} ({} of {} needed).{} Whether the shared storage feeds {} was not measured.", before,
                     enough, those, describe(p.supply.value.mean, p.unit), describe(p.need_here(), p.unit),
                     p.local ? kOwnStorage : "", nodes_of(job.cluster.nodes));
}

std::string expected_in_words(const Phase& p) {
  return fmt::format("Expected with {}, extrapolated from {}: {} [{}, {}]; needed: {}.", nodes_of(p.nodes),
                     p.measured_on(), describe(p.supply.value.mean, p.unit), describe(p.supply.value.low, p.unit),
                     describe(p.supply.value.high, p.unit), describe(p.need_here(), p.unit));
}

void report(const Job& job, const Grounds& g, Phase& p) {
  const std::string gives = describe(p.supply.value.mean, p.unit), needs = describe(p.need_here(), p.unit);
  const auto is = [&](Reason reason) { return p.reason == reason; };
  p.next_step.clear();
  if (p.outcome == Outcome::pass) {
    p.explanation = fmt::format("Gives {}; needs {}.", gives, needs);
    if (g.doubt() != Reason::none)
      p.explanation += " Something else ran while it was measured; the need is met even so.";
  } else if (p.outcome == Outcome::fail && !p.whole) {
    p.explanation = part_in_words(job, p);
  } else if (p.outcome == Outcome::fail) {
    p.explanation =
        fmt::format("Gives {}, even at best {}; needs {}.", gives, describe(p.supply.value.high, p.unit), needs);
  } else if (is(Reason::few_reps)) {
    p.explanation = fmt::format("Gave {} in {} repetition{} and {} are needed: a bound takes 5 or more.", gives,
                                p.supply.repetitions, p.supply.repetitions == 1 ? "" : "s", needs);
    p.next_step = "Measure with more repetitions: --looks 5,10,15";
  } else if (is(Reason::disturbed) || is(Reason::not_steady)) {
    p.explanation = fmt::format("Gave {} and {} are needed, but it was {} while it was measured.", gives, needs,
                                is(Reason::disturbed) ? "disturbed" : "not steady");
    p.next_step = "Measure again with nothing else running, and give all run folders.";
  } else if (is(Reason::two_humped)) {
    p.explanation = fmt::format(
        "Gave {} over time and {} are needed. The repetitions fall into two groups, above and below the need, for no "
        "known cause.",
        gives, needs);
    p.next_step = "Compare the two groups of repetitions in report.html, then measure again.";
  } else if (is(Reason::extrapolated)) {
    p.explanation = part_in_words(job, p);
    p.next_step = fmt::format("Measure with up to {} nodes at once: mpirun -n {} headrace qualify JOB",
                              job.cluster.nodes, job.cluster.nodes);
  } else if (is(Reason::other_settings)) {
    p.explanation = fmt::format("Gives {}; needs {}; but it was measured with {}, which {}.", gives, needs,
                                fmt::join(p.supply.differs, "; "), g.like.more ? "may get more" : "may get less");
    p.next_step = "Measure as the job reads.";
  } else if (is(Reason::single_session)) {
    p.explanation = fmt::format(
        "One session gave {}; needs {}. Another session may give {} to {}, as sessions of one "
        "system differ.",
        gives, needs, describe(p.supply.value.low, p.unit), describe(p.supply.value.high, p.unit));
    p.next_step = "Measure again at another time, and give all run folders.";
  } else {
    p.explanation = fmt::format("Gives {} to {}; needs {}, which lies between.", describe(p.supply.value.low, p.unit),
                                describe(p.supply.value.high, p.unit), needs);
    p.next_step = "Measure again at other times, and give all run folders.";
  }
  if (p.is_expected()) p.explanation = expected_in_words(p);
}

}  // namespace

Likeness likeness(const Job& job, const Measurement& m) {
  return job::likeness(job::way_of(job), m.point().workload, m.metric, m.point().params);
}

bool is_local(const Measurement& m) {
  const auto& facts = m.run().environment;
  const auto fact = [&facts](const char* key) {
    const auto found = facts.find(key);
    return found == facts.end() ? std::string() : found->second;
  };
  if (job::reads_objects(m.point().params)) return false;
  const bool own_data = !job::setting(m.point().params, "path").empty();
  if (!system::is_local_file_system(fact(own_data ? "data_file_system.type" : "file_system.type"))) return false;
  constexpr std::string_view kOverNetwork[] = {"nbd", "rbd", "drbd"};
  const std::string disk = fact("device.disk").empty() ? fact("device.name") : fact("device.disk");
  return own_data ||
         std::ranges::none_of(kOverNetwork, [&disk](std::string_view name) { return disk.starts_with(name); });
}

Derived derived(const Applied& applied) {
  return {std::string(applied.formula->id), named(*applied.formula), substituted(*applied.formula, applied.arguments),
          applied.value(), std::string(applied.formula->unit)};
}

Applied gpus_fed(double supply, double per_gpu, double safety) {
  return job::apply(
      "G8",
      {{"lower_bound_bytes_per_s", supply}, {"demand_per_gpu_bytes_per_s", per_gpu}, {"safety_margin_ratio", safety}});
}

Derived fed_from(const Bounded& supply, double per_gpu, double safety, const std::string& unit) {
  return {"G8", named(*job::find_formula("G8")),
          fmt::format("floor({} / ({} * {}))", describe(supply.low, unit), safety, describe(per_gpu, unit)),
          gpus_fed(supply.low, per_gpu, safety).value(), "count"};
}

double Phase::need_here() const { return demand.need * share; }

std::string Phase::measured_on() const {
  return fmt::format("{} nodes", fmt::join(std::views::keys(curve->counts()), ", "));
}

Bounded gpus_fed(const Bounded& supply, double per_gpu, double safety) {
  return {gpus_fed(supply.mean, per_gpu, safety).value(), gpus_fed(supply.low, per_gpu, safety).value(),
          gpus_fed(supply.high, per_gpu, safety).value()};
}

std::span<const PhaseKind> phase_kinds() {
  static const std::vector<PhaseKind> kKinds = [] {
    std::vector<PhaseKind> all;
    for (const job::NeedKind& need : job::need_kinds())
      if (const job::JobPhase& p = need.phase; !p.name.empty())
        all.push_back({p.name, p.title, need.id, need.owner == job::Owner::node, p.feeds_gpus, p.grows});
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
  const double largest = kind.phase == "checkpoint_save" ? job::largest_writer(job, needs) : 1;
  Demand demand;
  demand.required = need->required * nodes * largest;
  demand.need = need->need * nodes * largest;
  demand.per_gpu = demand.required * (1 + need->uncertainty) / job.cluster.gpus();
  demand.largest_writer = largest;
  demand.grows_with_gpus = kind.grows;
  demand.from = {need->formula, need->named, need->substituted, demand.required, need->unit};
  if (largest > 1) {
    demand.from.formula += " of E4";
    demand.from.equation = fmt::format("({}) * largest writer / mean writer", demand.from.equation);
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
  // Opens between reads do not show the possible number.
  for (const std::string& bound : at_node->lower_bounds) std::erase(metrics, bound);
  p.alternatives = measurements(sessions, metrics, at_node->cache, choices(job, *at_node, sessions));
  const Measurement* used = planned(job, p.alternatives);
  if (used == nullptr) return p;
  if (only_unproven_as_job(job, *used, sessions)) {
    p.alternatives.clear();
    return p;
  }
  p.local = is_local(*used);
  p.curve.emplace(of_the_same_point(p.alternatives, *used), kind.per_node, p.local);
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
    if (!p.curve || !p.gpus_fed || !p.whole) continue;
    any = true;
    all.mean = std::min(all.mean, p.gpus_fed->mean);
    all.low = std::min(all.low, p.gpus_fed->low);
    all.high = std::min(all.high, p.gpus_fed->high);
  }
  return any ? std::optional(all) : std::nullopt;
}

void judge_phase(const Job& job, Phase& p) {
  const Measurement& m = p.curve->largest();
  p.nodes = p.curve->reach(job.cluster.nodes);
  p.gpus = p.nodes * job.cluster.gpus_per_node;
  p.share = p.nodes / job.cluster.nodes;
  p.whole = p.nodes == job.cluster.nodes;
  const Grounds grounds{p.curve->at(p.nodes), likeness(job, m), p.need_here()};
  const Curve::Value& all = grounds.all;
  p.supply.value = {all.mean, all.low, all.high};
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
  const std::string store = p.is_expected()        ? describe(all.mean, p.unit) + " expected"
                            : p.curve->saturated() ? describe(m.mean, p.unit)
                                                   : "not known";
  p.supply.from = {"G6", named(*job::find_formula("G6")),
                   fmt::format("min({} * {}, {}, not known)", p.nodes, describe(m.per_client(), p.unit), store),
                   all.mean, p.unit};
  const auto ratio = [&](double supply) { return supply / p.need_here(); };
  p.headroom = {ratio(all.mean), ratio(all.low), ratio(all.high)};
  if (p.demand.grows_with_gpus) {
    p.gpus_fed = gpus_fed(p.supply.value, p.demand.per_gpu, job.safety);
    p.fed_from = fed_from(p.supply.value, p.demand.per_gpu, job.safety, p.unit);
  }
  decide(grounds, p);
  report(job, grounds, p);
}

}  // namespace headrace::sizing
