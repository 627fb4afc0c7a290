#include "harness/comparison/row_words.h"

#include <fmt/format.h>

#include <cmath>

#include "harness/units.h"

namespace headrace::comparison {
namespace {

using statistics::Change;

/// "B's read_bandwidth, 90.1 MB/s, against A's 100 MB/s: -9.9 % [-11, -8.7]".
std::string figures(const Comparison& all, const Pair& pair, const Row& row) {
  std::string text =
      fmt::format("{}'s {}, {}, against {}'s {}", all.sides[pair.other].label, row.metric,
                  format_in_unit(row.other.median, row.unit), all.sides[pair.base].label,
                  format_in_unit(row.base.median, row.unit));
  if (row.estimate)
    text += fmt::format(": {} [{}, {}]", change_text(row.estimate->ratio),
                        change_text(row.estimate->low), change_text(row.estimate->high));
  return text;
}

/// Nothing is known of how far sessions lie apart.
bool alone(const Comparison& all) { return !all.design.interleaved && all.history_sessions == 0; }

std::string verdict(const Comparison& all, const Row& row) {
  const std::string limit = fmt::format("{:.0f} %", row.delta * 100);
  switch (row.change) {
    case Change::worse:
    case Change::better:
    case Change::differs: {
      std::string text = fmt::format("{}, by more than {}", to_string(row.change), limit);
      if (alone(all)) text += "; these two sessions differ, which need not be a regression";
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
      return "the cache state was not proven in every repetition";
    case Reason::disturbed:
      return all.design.interleaved ? "one side was disturbed more often than the other"
                                    : "more than a third of the repetitions were disturbed";
    case Reason::fingerprint_differs:
      return "it differs, but so do machine or settings, and nobody said that they should";
    case Reason::two_humped:
      return "the values fall into two groups";
    case Reason::single_session:
      return fmt::format(
          "it differs, but not wholly by more than {}: sessions may lie that far apart", limit);
    default:
      if (row.within_noise)
        return fmt::format("within what this system shows against itself, \u00b1{:.2g} %",
                           100 * *row.noise_floor);
      return row.significant ? "the bounds span both the same and a change"
                             : "among so many metrics one like this is expected by chance";
  }
}

std::string next_step(const Comparison& all, const Row& row) {
  if (row.change != Change::inconclusive) return "";
  switch (row.reason) {
    case Reason::fingerprint_differs:
      for (const FingerprintDifference& d : all.fingerprint)
        if (d.matters && !d.declared)
          return fmt::format("if this is what you compare, say so: --differs {}",
                             d.key.substr(0, d.key.find('.')));
      return "";
    case Reason::few_ops:
      return "measure with more operations per repetition";
    case Reason::cache_unproven:
    case Reason::disturbed:
      return "measure again; headrace doctor names what stands in the way";
    default:
      break;
  }
  if (all.design.interleaved)
    return all.design.next_look > 0 ? fmt::format("go on to {} blocks: --blocks {}",
                                                  all.design.next_look, all.design.next_look)
                                    : "measure longer repetitions";
  return "interleave them: headrace run --against ... --blocks 6; or give past runs with --history";
}

}  // namespace

std::string change_text(double ratio) {
  const double change = (ratio - 1) * 100;
  if (std::abs(change) >= 1000) return fmt::format("x {:.3g}", ratio);
  return fmt::format("{:+.{}f} %", change, std::abs(change) < 10 ? 1 : 0);
}

void tell(const Comparison& all, const Pair& pair, Row& row) {
  row.explanation = figures(all, pair, row) + ": " + verdict(all, row) + ".";
  row.next_step = next_step(all, row);
}

std::string pair_sentence(const Comparison& all, const Pair& pair) {
  const PairSummary& s = pair.summary;
  std::string text =
      fmt::format("{} vs {}: ", all.sides[pair.other].label, all.sides[pair.base].label);
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
