#include "harness/analysis/sizing/sizing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/analysis/sizing/parts.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/engine/explain/questions.h"

namespace headrace::sizing {
namespace {

using job::Job;
using job::Need;

/// Worst first, as verdicts are reported: missed, open, met; within each the least headroom.
bool worse(const Phase& a, const Phase& b) {
  const auto order = [](const Phase& p) {
    return p.outcome == Outcome::fail ? 0 : p.outcome == Outcome::inconclusive ? 1 : 2;
  };
  if (order(a) != order(b)) return order(a) < order(b);
  return a.headroom.mean < b.headroom.mean;
}

std::string bounds(const Bounded& b) { return b.low == b.high ? "" : fmt::format(" [{:.0f}, {:.0f}]", b.low, b.high); }

/// Why no run answers the need: no point measured it, the point gives a reason, or it was measured differently.
std::string why_missing(const Job& job, const Need& need, const Phase& phase, std::span<const Session> sessions) {
  if (!phase.alternatives.empty()) {
    std::map<std::string, std::set<std::string>> points;
    for (const Measurement& m : phase.alternatives) points[likeness(job, m).why_not].insert(m.point().id);
    const auto& [why, who] = *points.begin();
    return fmt::format("{} {}", fmt::join(who, ", "), why);
  }
  const std::string& metric = need.measured_by.front();
  const auto dot = metric.find('.');
  for (const Session& session : sessions) {
    for (const results::StoredRun* run : session) {
      for (const results::StoredPoint& point : run->points) {
        if (point.workload != metric.substr(0, dot) || point.status != "ok") continue;
        if (point.find(metric.substr(dot + 1)) == nullptr)
          return fmt::format("{} did not report it{}{}", point.id, point.notes.empty() ? "" : ": ",
                             fmt::join(point.notes, "; "));
        if (point.cache == need.cache && point.cache_unproven_share > 0)
          return fmt::format("{} was not proven {} in {:.0f} % of its repetitions", point.id, need.cache,
                             std::ceil(point.cache_unproven_share * 100));
        if ((need.cache.empty() || point.cache == need.cache) && point.repetitions < 2)
          return fmt::format("{} has {}: too few for a range", point.id,
                             point.repetitions == 0 ? "no repetition that counts" : "one repetition");
      }
    }
  }
  return fmt::format("no run has {}{}", metric, need.cache.empty() ? "" : ", " + need.cache);
}

/// The phases whose supply was measured, into the sizing; the others are named.
void add_phases(std::span<const Need> needs, Sizing& s) {
  const Commands commands(s.job, s.job_file, s.sessions);
  for (Phase& phase : phases_of(s.job, needs, s.sessions)) {
    if (phase.curve) {
      s.phases.push_back(std::move(phase));
      continue;
    }
    std::string why;
    for (const Need& need : needs)
      if (need.id == phase.need && need.scope == job::Scope::node) why = why_missing(s.job, need, phase, s.sessions);
    s.not_measured.push_back({phase.phase, phase.title, std::move(why), commands.measure(phase.phase)});
  }
  std::stable_sort(s.phases.begin(), s.phases.end(), worse);
}

/// The GPUs that every phase feeds, and the phase with the least headroom.
void add_gpus_fed(Sizing& s) {
  const Phase& least = *std::min_element(s.phases.begin(), s.phases.end(), [](const Phase& a, const Phase& b) {
    return a.headroom.mean < b.headroom.mean;
  });
  s.limiting = least.phase;
  s.basis = least.supply.basis;
  s.gpus_fed = gpus_fed(s.job, s.phases);
  s.measured_nodes = s.job.cluster.nodes;
  for (const Phase& p : s.phases)
    s.measured_nodes = std::min(s.measured_nodes, p.is_expected() ? p.curve->measured_to() : p.nodes);
  for (const Phase& p : s.phases)
    if (least.headroom.mean >= 1 || (p.gpus_fed && p.is_expected())) s.basis = std::max(s.basis, p.supply.basis);
  if (least.headroom.mean < 1) return;
  const bool all_pass =
      std::all_of(s.phases.begin(), s.phases.end(), [](const Phase& p) { return p.outcome == Outcome::pass; });
  if (s.capacity.outcome == Outcome::fail || (s.capacity.outcome == Outcome::inconclusive && all_pass))
    s.limiting = "capacity";
}

void judge(Sizing& s) {
  const auto any = [&](Outcome outcome) {
    return s.capacity.outcome == outcome ||
           std::any_of(s.phases.begin(), s.phases.end(), [&](const Phase& p) { return p.outcome == outcome; });
  };
  s.word = headrace::worst(
      {.fail = any(Outcome::fail), .inconclusive = any(Outcome::inconclusive), .incomplete = !s.not_measured.empty()});
  s.exit_code = exit_code(s.word);
}

std::string title_of(const Sizing& s) {
  std::string title(kind_of(s.limiting).title);
  title[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(title[0])));
  return title;
}

/// The result of a phase whose demand is the same for any number of GPUs.
std::string limit_of(const Phase& p) {
  if (p.is_expected()) return fmt::format(" {}: {}", p.title, p.explanation);
  return fmt::format(" {} gives {} of {}.", p.title, format_in_unit(p.supply.value.mean, p.unit),
                     format_in_unit(p.need_here(), p.unit));
}

const Phase& limiting_phase(const Sizing& s) {
  return *std::ranges::find_if(s.phases, [&](const Phase& p) { return p.phase == s.limiting; });
}

std::string times(double headroom) {
  return headroom > kMany ? fmt::format("more than x{:.0f}", kMany) : fmt::format("x{:.2g}", headroom);
}

/// The sentence where not all nodes were measured: whether their rates are enough for them, and the open question.
std::string sentence_of_part(const Sizing& s, const Phase& p) {
  const bool missed = p.headroom.mean < 1;
  std::string out =
      fmt::format("Measured on {:.0f} of {:.0f} nodes{}: {} for {} ({:.0f} GPUs, {}).", p.nodes, s.job.cluster.nodes,
                  p.local ? ", on local storage" : "", missed ? "not enough" : "enough",
                  p.nodes == 1 ? "that node" : "those nodes", p.gpus, times(p.headroom.mean));
  if (missed) out += limit_of(p);
  if (p.local) out += kOwnStorage;
  if (p.outcome != Outcome::fail)
    out += fmt::format(" Whether the shared storage feeds {:.0f} nodes was not measured.", s.job.cluster.nodes);
  return out;
}

/// The limit of the next phase: how much an improvement of this one helps.
std::string next_limit_of(const Sizing& s) {
  const Phase* next = nullptr;
  for (const Phase& p : s.phases)
    if (p.phase != s.limiting && p.gpus_fed && p.whole && (next == nullptr || p.gpus_fed->mean < next->gpus_fed->mean))
      next = &p;
  if (next == nullptr) return "";
  const double fed = next->gpus_fed->mean;
  return fed > kMany * s.job.cluster.gpus()
             ? fmt::format(" {} alone would feed more than {:.0f} times as many.", next->title, kMany)
         : next->is_expected()
             ? fmt::format(" {} alone is expected to feed {:.0f}{}.", next->title, fed, bounds(*next->gpus_fed))
             : fmt::format(" {} alone would feed {:.0f}.", next->title, fed);
}

/// "this storage feeds 96 [86, 101] of 128 GPUs". Of more nodes than were measured it is expected.
std::string gpus_fed_in_words(const Sizing& s) {
  if (!s.gpus_fed) return "Nothing that feeds GPUs was measured";
  const Bounded& fed = *s.gpus_fed;
  const auto guess = std::ranges::find_if(s.phases, [](const Phase& p) { return p.gpus_fed && p.is_expected(); });
  if (guess != s.phases.end())
    return fmt::format("this storage is expected to feed {:.0f} [{:.0f}, {:.0f}] of {:.0f} GPUs, extrapolated from {}",
                       fed.mean, fed.low, fed.high, s.job.cluster.gpus(), guess->measured_on());
  return fmt::format("this storage feeds {:.0f}{} of {:.0f} GPUs{}", fed.mean, bounds(fed), s.job.cluster.gpus(),
                     s.basis == Basis::modelled ? ", modelled" : "");
}

std::string sentence_of_gpus(const Sizing& s) {
  const double gpus = s.job.cluster.gpus();
  const bool short_of_supply =
      s.limiting != "capacity" && std::ranges::any_of(s.phases, [](const Phase& p) { return p.headroom.mean < 1; });
  const bool limits_gpus = short_of_supply && kind_of(s.limiting).grows;
  std::string out = gpus_fed_in_words(s);
  if (limits_gpus) out += "; cause: " + title_of(s);
  out += ".";
  if (short_of_supply && !limits_gpus) out += limit_of(limiting_phase(s));
  if (limits_gpus && s.gpus_fed && s.gpus_fed->mean < gpus) out += next_limit_of(s);
  return out;
}

/// The nodes that measured a part, where the whole job has its measured needs.
std::string sentence_of_supply(const Sizing& s) {
  const auto part = std::ranges::find(s.phases, false, &Phase::whole);
  const bool short_of_gpus = s.gpus_fed && s.gpus_fed->mean < s.job.cluster.gpus();
  const bool whole_fails =
      std::ranges::any_of(s.phases, [](const Phase& p) { return p.whole && p.outcome == Outcome::fail; });
  if (part == s.phases.end()) return sentence_of_gpus(s);
  if (!short_of_gpus && !whole_fails) return sentence_of_part(s, *part);
  return sentence_of_gpus(s) +
         fmt::format(" {} was measured on {:.0f} of {:.0f} nodes.", part->title, part->nodes, s.job.cluster.nodes);
}

std::string sentence_of(const Sizing& s) {
  const bool supply_fails = std::ranges::any_of(s.phases, [](const Phase& p) { return p.outcome == Outcome::fail; });
  const bool full = s.capacity.outcome == Outcome::fail;
  std::string out = sentence_of_supply(s);
  // The subject of the word comes first.
  if (full) out = supply_fails ? out + " " + s.capacity.explanation : s.capacity.explanation + " " + out;
  if (s.capacity.outcome == Outcome::inconclusive) out += " It is not known if the data of the job fits.";
  if (!s.not_measured.empty()) {
    out += " Not measured:";
    for (const NotMeasured& n : s.not_measured)
      out += fmt::format("{} {}", &n == &s.not_measured.front() ? "" : ",", n.title);
    out += ".";
  }
  return out;
}

void add_formulas(Sizing& s) {
  const auto add = [&](const Derived& d) {
    if (d.formula.empty()) return;
    const auto same = [&](const Derived& known) {
      return known.formula == d.formula && known.substituted == d.substituted;
    };
    if (std::none_of(s.formulas.begin(), s.formulas.end(), same)) s.formulas.push_back(d);
  };
  for (const Phase& p : s.phases) {
    add(p.demand.from);
    add(p.supply.from);
    if (p.gpus_fed) add(p.fed_from);
  }
  for (const CapacityPart& part : s.capacity.parts) add(part.from);
  if (s.starvation) add(s.starvation->from);
  for (const Fix& fix : s.fixes) add(fix.from);
}

}  // namespace

Sizing size(const Job& job, const std::string& job_file, std::span<const results::StoredRun> runs) {
  Sizing s;
  s.job = job;
  s.job_file = job_file;
  s.sessions = sessions_of(runs);
  s.predictions = predictions_of(runs);
  for (const results::StoredRun& run : runs) {
    std::vector<judging::RecordedPoint> points;
    for (const results::StoredPoint& point : run.points) points.push_back(point.recorded());
    if (s.samples = engine::adopt_format_overhead(s.job, points); !s.samples.empty()) break;
  }
  const auto needs = job::derive_needs(s.job);
  add_phases(needs, s);
  if (s.phases.empty()) {
    std::string missing;
    for (const NotMeasured& n : s.not_measured)
      missing += fmt::format("\n  {}: {}; measure it with: {}", n.title, n.why, n.command);
    throw UsageErrors("size: the runs measured nothing that this job needs" + missing);
  }
  s.capacity = capacity_of(s.job, s.sessions);
  add_gpus_fed(s);
  s.calendar = calendar_of(s);
  s.starvation = starvation_of(s);
  s.cycle = cycle_of(s);
  for (const Phase& p : s.phases)
    if (!kind_of(p.phase).per_node) s.scaling.push_back(scaling_of(s.job, p));
  s.fixes = fixes_of(s);
  s.assumptions = assumptions_of(s);
  judge(s);
  s.sentence = sentence_of(s);
  add_formulas(s);
  return s;
}

}  // namespace headrace::sizing
