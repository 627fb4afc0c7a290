#include "harness/judge/verdict/slow_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "harness/judge/statistics/robust.h"
#include "harness/judge/verdict/answers.h"
#include "harness/record/connections.h"

namespace headrace::judging {
namespace {

constexpr double kDeviations = 2.5;  // from the rates of sound pairs: most of them are within

/// Those that count, as one matrix of medians.
PairMatrix middle_of(const RecordedPoint& point) {
  std::vector<const PairMatrix*> counted;
  for (const RecordedRepetition& r : point.repetitions)
    if (r.counted && r.ok && r.pairs) counted.push_back(&*r.pairs);
  return median_matrix(counted);
}

/// The findings of one part: of a link both ways, if both are slow.
using Findings = std::vector<PairFinding>;

/// The point as if it had measured the part alone: of two ways the slower one.
RecordedPoint of_part(const RecordedPoint& point, const Findings& findings, const Blame& blame,
                      const PairMatrix& middle, const std::string& metric) {
  RecordedPoint own;
  own.id = point.id;
  own.workload = point.workload;
  own.status = point.status;
  own.looks = point.looks;
  own.measured_again = point.measured_again;
  for (const RecordedRepetition& r : point.repetitions) {
    RecordedRepetition& one = own.repetitions.emplace_back();
    one.look = r.look;
    one.counted = r.counted;
    one.elapsed_s = r.elapsed_s;
    one.disturbed = r.disturbed;
    one.disturbed_why = r.disturbed_why;
    std::optional<double> share;
    if (r.ok && r.pairs && r.pairs->names == middle.names)
      for (const PairFinding& finding : findings)
        if (const auto of = share_of(finding, blame, *r.pairs)) share = std::min(share.value_or(*of), *of);
    one.ok = share.has_value();
    if (share) one.metrics[metric] = *share;
  }
  return own;
}

std::string describe(const Findings& findings) {
  std::string text;
  for (const PairFinding& one : findings)
    text += fmt::format("{}{}{}", text.empty() ? "" : "; ", findings.size() > 1 ? one.subject + " " : "", one.reported);
  return text;
}

/// What to look at, and how to test a repaired part again.
std::string look_at(const PairFinding& finding) {
  if (finding.kind.starts_with("closed ")) return fmt::format("{}; then run the same command again", kOpenFirewall);
  if (finding.kind.starts_with("blocked ")) return fmt::format("{}; then run the same command again", kLetOut);
  if (finding.part.starts_with("node "))
    return fmt::format("take {} out; {}; then run the same command again", finding.subject, kLookAtNode);
  if (finding.part.starts_with("NIC "))
    return fmt::format(
        "look at the cable of {}, its port and its counters (ethtool -S); then run the same command again",
        finding.subject);
  if (finding.part.starts_with("link "))
    return fmt::format("both ends are as fast as others with others: {}", kLookAtWay);
  return fmt::format("look at what all of {} have in common: its switches, their uplinks and counters",
                     finding.subject);
}

std::string metric_of(const PairFinding& finding) {
  const std::string name = finding.part.substr(finding.part.find(' ') + 1);
  const std::size_t to = name.find(" to ");
  return "rate of " + (finding.part.starts_with("link ") && to != name.npos
                           ? name.substr(0, to) + " and " + name.substr(to + 4)
                           : name);
}

/// The least share of the usual rate that most healthy pairs of this point reach in single repetitions. On a busy
/// machine that is less than the rate of slow parts elsewhere.
double noise_limit(const RecordedPoint& point, const Blame& blame, const PairMatrix& middle) {
  std::vector<double> sound;
  for (const RecordedRepetition& r : point.repetitions)
    if (r.counted && r.ok && r.pairs && r.pairs->names == middle.names)
      for (const double share : sound_shares(blame, *r.pairs)) sound.push_back(share);
  if (sound.empty()) return 0;
  const statistics::Robust usual = statistics::robust(sound);
  return std::max(0.0, usual.median - kDeviations * usual.spread);
}

/// Was the point measured again, and the part connected then?
bool connected_again(const RecordedPoint& point, const std::string& part) {
  bool again = false;
  for (const RecordedRepetition& r : point.repetitions) {
    if (r.look < point.looks.looks.size() || !r.ok || !r.pairs) continue;
    const auto found = pair_findings(headrace::blame(*r.pairs), *r.pairs);
    if (std::any_of(found.begin(), found.end(), [&](const auto& one) { return one.part == part && one.below == 0; }))
      return false;
    again = true;
  }
  return again;
}

/// An end that cannot be connected at all needs no bounds.
Judgement cut_off(const RecordedPoint& point, const PairFinding& finding, double share) {
  Judgement j;
  j.id = kPairRate;
  j.scope = finding.part;
  j.outcome = Outcome::fail;
  j.unit = "ratio";
  j.required = j.need = share;
  j.measured = j.headroom = 0;
  j.point = point.id;
  j.explanation = finding.reported + (finding.reported.ends_with('?') ? "" : ".");
  if (connected_again(point, finding.part)) {
    j.outcome = Outcome::inconclusive;
    j.reason = Reason::not_steady;
    j.explanation += " After a pause the connection worked, so no node is blamed.";
    j.next_step = fmt::format("run the same command with --only '{}'", point.id);
    return j;
  }
  j.next_step =
      finding.part.starts_with("link ") ? fmt::format("both get through elsewhere: {}", kLookAtWay) : look_at(finding);
  return j;
}

/// Nothing where it is not exceptional.
std::optional<Judgement> judged(const RecordedPoint& point, const Findings& findings, const Blame& blame,
                                const PairMatrix& middle, double noise) {
  const PairFinding& first = findings.front();
  if (first.below == 0) return cut_off(point, first, blame.share);
  const std::string metric = metric_of(first);
  Question slow;
  slow.blank.id = kPairRate;
  slow.blank.scope = first.part;
  slow.blank.unit = "ratio";
  const double limit = first.rail ? first.below : std::min(first.below, noise);
  slow.blank.required = slow.blank.need = limit;
  slow.measured_by = {point.workload + "." + metric};
  slow.workload = point.workload;
  const RecordedPoint own = of_part(point, findings, blame, middle, metric);
  Judgement j = answer_all({&slow, 1}, {&own, 1}).front();
  if (!j.measured || *j.measured >= limit) return std::nullopt;
  const std::string what = describe(findings);
  const std::string by_how_much = fmt::format(" Slow is what reaches less than {:.0f} % of the usual{}.", 100 * limit,
                                              limit < first.below ? ", as healthy pairs differ by as much" : "");
  if (j.outcome == Outcome::fail) {
    j.explanation = fmt::format("{}.{} {}", what, by_how_much, j.explanation);
    j.next_step = look_at(first);
  } else {
    j.explanation = fmt::format("{}, but no node is blamed yet.{} {}", what, by_how_much, j.explanation);
  }
  return j;
}

/// The findings of one point by part, in the order of pair_findings().
std::vector<Findings> findings_of(const Blame& blame, const PairMatrix& middle) {
  std::vector<Findings> parts;
  for (PairFinding& finding : pair_findings(blame, middle)) {
    const auto known =
        std::find_if(parts.begin(), parts.end(), [&](const Findings& of) { return of.front().part == finding.part; });
    (known == parts.end() ? parts.emplace_back() : *known).push_back(std::move(finding));
  }
  return parts;
}

/// Is one of the link's ends among those?
bool ends_at(const Findings& link, const PairMatrix& matrix, const std::set<std::string>& nodes) {
  return std::any_of(link.front().ends.begin(), link.front().ends.end(),
                     [&](unsigned end) { return nodes.contains(matrix.names[end]); });
}

}  // namespace

bool shows_usual_values(const PairMatrix& matrix, unsigned nodes) {
  const std::size_t ends = matrix.ends_of_rail();
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < ends; ++a)
    for (std::size_t b = a + 1; b < ends; ++b) pairs += matrix.rate[a][b] >= 0 || matrix.rate[b][a] >= 0;
  return nodes >= kFewestNodes && pairs >= kFewestNodes;
}

std::vector<Judgement> judge_parts(std::span<const RecordedPoint> points) {
  struct Matrix {
    const RecordedPoint* point;
    PairMatrix middle;
    Blame blame;
    std::vector<Findings> parts;
  };
  std::vector<Matrix> matrices;
  std::set<std::string> accused, cut;  // ends that a point blames, or that no other end reaches
  for (const RecordedPoint& point : points) {
    if (point.status != PointStatus::ok && point.status != PointStatus::interrupted && !point.measured_again) continue;
    PairMatrix middle = middle_of(point);
    if (middle.names.empty()) continue;
    Blame blame = headrace::blame(middle);
    std::vector<Findings> parts = findings_of(blame, middle);
    if (!shows_usual_values(middle, point.nodes))
      std::erase_if(parts, [](const Findings& of) { return of.front().below > 0; });
    for (const unsigned end : blame.nodes) accused.insert(middle.names[end]);
    for (const Findings& of : parts)
      if (of.front().below == 0 && !of.front().part.starts_with("link "))
        for (const unsigned end : of.front().ends) cut.insert(middle.names[end]);
    matrices.push_back({&point, std::move(middle), std::move(blame), std::move(parts)});
  }
  std::vector<Judgement> all;
  for (const Matrix& matrix : matrices) {
    if (matrix.parts.empty()) continue;
    const double noise = noise_limit(*matrix.point, matrix.blame, matrix.middle);
    for (const Findings& part : matrix.parts) {
      const bool link = part.front().part.starts_with("link ");
      if (link && ends_at(part, matrix.middle, cut)) continue;
      if (link && part.front().below > 0 && ends_at(part, matrix.middle, accused)) continue;
      std::optional<Judgement> found = judged(*matrix.point, part, matrix.blame, matrix.middle, noise);
      if (!found) continue;
      Judgement& j = *found;
      const auto known =
          std::find_if(all.begin(), all.end(), [&](const Judgement& one) { return one.scope == j.scope; });
      if (known == all.end())
        all.push_back(std::move(j));
      else if (j.outcome < known->outcome)
        *known = std::move(j);
    }
  }
  return all;
}

}  // namespace headrace::judging
