#include "harness/sizing/sizing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/diagnostics.h"
#include "harness/sizing/parts.h"
#include "harness/units.h"

namespace headrace::sizing {
namespace {

using requirements::Job;
using requirements::Need;

constexpr int kFail = 10, kInconclusive = 11, kIncomplete = 12;

/// Worst first, as verdicts are told: missed, open, met; within each the least headroom.
bool worse(const Phase& a, const Phase& b) {
  const auto order = [](const Phase& p) {
    return p.outcome == Outcome::fail ? 0 : p.outcome == Outcome::inconclusive ? 1 : 2;
  };
  if (order(a) != order(b)) return order(a) < order(b);
  return a.headroom.median < b.headroom.median;
}

std::string bounds(const Bounded& b) {
  return b.low == b.high ? "" : fmt::format(" [{:.0f}, {:.0f}]", b.low, b.high);
}

/// Why no run tells what the need is answered by: nothing measured it, or what did so says why.
std::string why_missing(const Need& need, std::span<const Session> sessions) {
  const std::string& metric = need.measured_by.front();
  const auto dot = metric.find('.');
  for (const Session& session : sessions)
    for (const results::StoredRun* run : session)
      for (const results::StoredPoint& point : run->points)
        if (point.workload == metric.substr(0, dot) && point.status == "ok" &&
            point.find(metric.substr(dot + 1)) == nullptr)
          return fmt::format("{} did not report it{}{}", point.id, point.notes.empty() ? "" : ": ",
                             fmt::join(point.notes, "; "));
  return fmt::format("no run has {}{}", metric, need.cache.empty() ? "" : ", " + need.cache);
}

/// The phases whose supply was measured, into the sizing; the others are named.
void add_phases(std::span<const Need> needs, Sizing& s) {
  for (const PhaseKind& kind : phase_kinds()) {
    auto phase = phase_of(s.job, needs, kind, s.sessions);
    if (!phase) continue;
    if (phase->curve) {
      s.phases.push_back(std::move(*phase));
      continue;
    }
    std::string why;
    for (const Need& need : needs)
      if (need.id == kind.need && need.scope == requirements::Scope::node)
        why = why_missing(need, s.sessions);
    s.not_measured.push_back({std::string(kind.phase), std::string(kind.title), std::move(why),
                              command_for(s.job, kind.phase, s.job_file)});
  }
  std::stable_sort(s.phases.begin(), s.phases.end(), worse);
}

/// The GPUs that every phase feeds, and the phase that feeds the fewest.
void add_gpus_fed(Sizing& s) {
  const double gpus = s.job.cluster.gpus();
  const Phase& least = *std::min_element(
      s.phases.begin(), s.phases.end(),
      [](const Phase& a, const Phase& b) { return a.headroom.median < b.headroom.median; });
  s.limiting = least.phase;
  s.basis = least.supply.basis;
  s.gpus_fed = {gpus, gpus, gpus};
  for (const Phase& p : s.phases) {
    s.gpus_fed.median = std::min(s.gpus_fed.median, p.gpus_fed.median);
    s.gpus_fed.low = std::min(s.gpus_fed.low, p.gpus_fed.low);
    s.gpus_fed.high = std::min(s.gpus_fed.high, p.gpus_fed.high);
    s.basis = std::max(s.basis, p.supply.basis);
  }
  if (s.gpus_fed.median < gpus) s.basis = least.supply.basis;
}

void judge(Sizing& s) {
  const auto any = [&](Outcome outcome) {
    return std::any_of(s.phases.begin(), s.phases.end(),
                       [&](const Phase& p) { return p.outcome == outcome; });
  };
  s.word = "PASS";
  if (any(Outcome::fail) || s.capacity.outcome == Outcome::fail) {
    s.word = "FAIL";
    s.exit_code = kFail;
  } else if (any(Outcome::inconclusive)) {
    s.word = "INCONCLUSIVE";
    s.exit_code = kInconclusive;
  } else if (!s.not_measured.empty()) {
    s.word = "INCOMPLETE";
    s.exit_code = kIncomplete;
  }
}

std::string sentence_of(const Sizing& s) {
  const double gpus = s.job.cluster.gpus();
  std::string out =
      fmt::format("Feeds {:.0f}{} of {:.0f} GPUs", s.gpus_fed.median, bounds(s.gpus_fed), gpus);
  if (s.basis != Basis::measured) out += fmt::format(", {}", to_string(s.basis));
  if (s.gpus_fed.median < gpus)
    out += fmt::format("; cause: {}", [&] {
      std::string title = std::string(kind_of(s.limiting).title);
      title[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(title[0])));
      return title;
    }());
  out += ".";
  // What the next phase would allow tells how far mending this one goes.
  std::vector<const Phase*> others;
  for (const Phase& p : s.phases)
    if (p.phase != s.limiting) others.push_back(&p);
  if (!others.empty() && s.gpus_fed.median < gpus) {
    const Phase& next = **std::min_element(
        others.begin(), others.end(),
        [](const Phase* a, const Phase* b) { return a->gpus_fed.median < b->gpus_fed.median; });
    out += fmt::format(" {} alone would feed {:.0f}.", next.title, next.gpus_fed.median);
  }
  if (s.capacity.outcome == Outcome::fail) out += " What the job keeps does not fit.";
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
    add(p.fed_from);
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
  const auto needs = requirements::derive_needs(job);
  add_phases(needs, s);
  if (s.phases.empty()) {
    std::string missing;
    for (const NotMeasured& n : s.not_measured)
      missing += fmt::format("\n  {}: {}; measure it with: {}", n.title, n.why, n.command);
    throw UsageError("size: the runs measured nothing that this job needs" + missing);
  }
  s.capacity = capacity_of(job, s.sessions);
  add_gpus_fed(s);
  s.calendar = calendar_of(s);
  s.starvation = starvation_of(s);
  s.cycle = cycle_of(s);
  for (const Phase& p : s.phases)
    if (!kind_of(p.phase).per_node) s.scaling.push_back(scaling_of(job, p));
  s.fixes = fixes_of(s);
  s.assumptions = assumptions_of(s);
  judge(s);
  s.sentence = sentence_of(s);
  add_formulas(s);
  return s;
}

}  // namespace headrace::sizing
