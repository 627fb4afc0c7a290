#include "harness/analysis/comparison/row_words.h"

#include <fmt/format.h>

#include <cmath>

#include "harness/base/units.h"
#include "harness/judge/statistics/change_points.h"

namespace headrace::comparison {
namespace {

using statistics::Change;

constexpr std::string_view kBringup = "bringup";  // as_runs(): one session is one run, which has no turns

/// "B's read_bandwidth, 90.1 MB/s, against A's 100 MB/s: -9.9 % [-11, -8.7]".
std::string figures(const Comparison& all, const Pair& pair, const Row& row) {
  std::string text = fmt::format("{}'s {}, {}, against {}'s {}", all.sides[pair.other].label, row.metric,
                                 format_in_unit(row.other.typical, row.unit), all.sides[pair.base].label,
                                 format_in_unit(row.base.typical, row.unit));
  if (row.fact) return text + (row.estimate ? ": " + change_text(row.estimate->ratio) : "");
  if (row.estimate)
    text += fmt::format(": {} [{}, {}]", change_text(row.estimate->ratio), change_text(row.estimate->low),
                        change_text(row.estimate->high));
  return text;
}

/// The spread of sessions is unknown.
bool alone(const Comparison& all) { return !all.design.interleaved && all.history_sessions == 0; }

std::string verdict(const Comparison& all, const Row& row) {
  const std::string limit = share_text(row.delta);
  if (row.fact)
    return fmt::format("{}; read, not measured",
                       row.change == Change::small ? "a difference smaller than " + limit : to_string(row.change));
  switch (row.change) {
    case Change::worse:
    case Change::better:
    case Change::differs: {
      if (!row.estimate) return fmt::format("{}: one side gave nothing", to_string(row.change));
      std::string text = fmt::format("{}, by more than {}", to_string(row.change), limit);
      if (alone(all))
        text += fmt::format(
            "; these two sessions differ by more than sessions {} apart would, which need not be a "
            "regression",
            share_text(statistics::kAssumedSpread));
      return text;
    }
    case Change::same:
      return "the same within " + limit;
    case Change::small:
      return "a real difference, smaller than " + limit;
    case Change::inconclusive:
      break;
  }
  switch (row.reason) {
    case Reason::few_reps:
      return "too few repetitions for bounds";
    case Reason::few_ops:
      return "too few operations for this percentile";
    case Reason::cache_unproven:
      return row.names_differ ? "names were dropped from memory on one side only, which changes how fast files open"
                              : "the cache state was not proven in every repetition";
    case Reason::disturbed:
      return all.design.interleaved ? "one side was disturbed more often than the other"
                                    : "more than a third of the repetitions were disturbed";
    case Reason::fingerprint_differs:
      return "it differs, but so do machine or settings (if intended: --differs KEY)";
    case Reason::two_humped:
      return "the values fall into two groups";
    case Reason::single_session:
      return "one session each, and the spread between sessions is not known";
    default:
      if (row.within_noise)
        return "within what this system shows against itself, \u00b1" + share_text(*row.noise_floor);
      if (!row.estimate) return "some repetitions gave 0, which has no ratio";
      return row.significant ? "the bounds span both the same and a change"
                             : "likely chance, given the number of metrics";
  }
}

std::string next_step(const Comparison& all, const Row& row) {
  if (row.change != Change::inconclusive) return "";
  switch (row.reason) {
    case Reason::fingerprint_differs:
      for (const FingerprintDifference& d : all.fingerprint)
        if (d.matters && !d.declared)
          return fmt::format("if this is what you compare, say so: --differs {}", d.key.substr(0, d.key.find('.')));
      return "";
    case Reason::few_ops:
      return "measure with more operations per repetition";
    case Reason::cache_unproven:
      if (row.names_differ) return "measure both sides as root, outside of containers: that drops names from memory";
      [[fallthrough]];
    case Reason::disturbed:
      return "measure again; headrace doctor names the obstacle";
    default:
      break;
  }
  if (all.design.interleaved)
    return all.design.next_look > 0
               ? fmt::format("go on to {} blocks: --blocks {}", all.design.next_look, all.design.next_look)
               : "measure longer repetitions";
  if (row.workload == kBringup)
    return fmt::format(
        "run both bring-ups again on the same nodes; headrace history FOLDER compares {} sessions or more",
        statistics::kFewestRuns);
  return "interleave them: headrace run --against ... --blocks 6; or give past runs with --history";
}

}  // namespace

std::string change_text(double ratio) {
  const double change = (ratio - 1) * 100;
  if (std::abs(change) >= 1000) return fmt::format("x {:.3g}", ratio);
  return fmt::format("{:+.{}f} %", change, std::abs(change) < 10 ? 1 : 0);
}

std::string share_text(double share) {
  const double percent = share * 100;
  return percent < 9.95 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string visible_text(double change) {
  return change < 1 ? "a change of " + share_text(change)
                    : "nothing less than a change that more than doubles or halves it";
}

std::string history_sentence(const Comparison& all) {
  if (all.design.interleaved) return "";
  if (all.history_sessions > 0)
    return fmt::format("{} past sessions show how far sessions differ", all.history_sessions);
  return fmt::format(
      "none ({}): the spread between sessions is unknown; {} is assumed, and the verdicts hold only within it",
      all.history_why, share_text(statistics::kAssumedSpread));
}

std::vector<std::string> compared_parts(const Comparison& all, const Pair& pair) {
  std::vector<std::string> parts;
  const auto value = [](const std::string& v) { return v.empty() ? std::string("-") : v; };
  for (const ParameterDifference& d : pair.parameters) {
    std::string text = fmt::format("{}: {} -> {}", d.name, value(d.base), value(d.other));
    if (d.points.size() == 1) text += fmt::format(" ({})", d.points.front());
    if (d.points.size() > 1) text += fmt::format(" ({} and {} more)", d.points.front(), d.points.size() - 1);
    parts.push_back(std::move(text));
  }
  for (const FingerprintDifference& d : all.fingerprint) {
    // The place of the data decides nothing, but may be the only difference.
    const bool place = d.key == "file_system.path";
    if (!(d.matters || place) || d.values[pair.base] == d.values[pair.other]) continue;
    parts.push_back(fmt::format("{}: {} -> {}{}", d.key, value(d.values[pair.base]), value(d.values[pair.other]),
                                d.declared  ? " (declared)"
                                : d.matters ? " (not declared)"
                                            : ""));
  }
  if (parts.empty()) parts.push_back("no recorded difference that matters");
  return parts;
}

std::string gates_sentence(const Pair& pair) {
  const PairSummary& s = pair.summary;
  std::vector<std::string> worse, open;
  unsigned other_worse = s.worse, other_better = s.better;
  for (const Row& row : pair.rows) {
    if (!row.gated) continue;
    const std::string name = fmt::format("{} of {}", row.metric, row.base_point);
    if (row.change == Change::worse) worse.push_back(name);
    if (row.change == Change::inconclusive) open.push_back(name);
    other_worse -= row.change == Change::worse;
    other_better -= row.change == Change::better;
  }
  const auto named = [&](const std::vector<std::string>& names, const char* what) {
    return fmt::format("{} of {} gate{} {} {}: {}{}", names.size(), s.gated, s.gated == 1 ? "" : "s",
                       names.size() == 1 ? "is" : "are", what, names.front(),
                       names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
  };
  std::string text = !worse.empty()                  ? named(worse, "worse")
                     : !open.empty()                 ? named(open, "open")
                     : s.gated == 0                  ? "no gate was measured on both sides"
                     : s.word == Outcome::incomplete ? "a gate was not measured on both sides"
                                                     : "no gate is worse";
  std::vector<std::string> rest;
  if (other_worse > 0) rest.push_back(fmt::format("{} worse", other_worse));
  if (other_better > 0) rest.push_back(fmt::format("{} better", other_better));
  if (!rest.empty())
    text += fmt::format("; {} {} no gate{}", headrace::join(rest, " and "),
                        other_worse + other_better == 1 ? "is" : "are", other_worse + other_better == 1 ? "" : "s");
  return text;
}

void write_words(const Comparison& all, const Pair& pair, Row& row) {
  row.explanation = figures(all, pair, row) + ": " + verdict(all, row) + ".";
  row.next_step = next_step(all, row);
}

std::string pair_sentence(const Comparison& all, const Pair& pair) {
  const PairSummary& s = pair.summary;
  std::string text = fmt::format("{} vs {}: ", all.sides[pair.other].label, all.sides[pair.base].label);
  const char* separator = "";
  const auto part = [&](unsigned count, const char* word) {
    if (count == 0) return;
    text += fmt::format("{}{} {}", separator, count, word);
    separator = ", ";
  };
  part(s.worse, "worse");
  part(s.better, "better");
  part(s.differs, "different");
  part(s.small, "slightly different");
  part(s.same, "same");
  part(s.inconclusive, "inconclusive");
  return text;
}

}  // namespace headrace::comparison
