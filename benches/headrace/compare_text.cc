#include "benches/headrace/compare_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/analysis/comparison/row_words.h"
#include "harness/base/units.h"

namespace headrace::cli {
namespace {

using namespace comparison;
using statistics::Change;

Ink ink_of(const Row& row) {
  switch (row.change) {
    case Change::worse:
      return Ink::bad;
    case Change::better:
    case Change::same:
      return Ink::good;
    case Change::differs:
    case Change::inconclusive:
      return Ink::doubt;
    case Change::small:
      return Ink::plain;
  }
  return Ink::plain;
}

std::string_view symbol_of(Change change, bool ascii) {
  switch (change) {
    case Change::worse:
      return symbol(Outcome::fail, ascii);
    case Change::better:
      return ascii ? "+" : "\u2714";
    case Change::differs:
      return ascii ? "#" : "\u2260";
    case Change::same:
      return "=";
    case Change::small:
      return ascii ? "~" : "\u2248";
    case Change::inconclusive:
      return symbol(Outcome::inconclusive, ascii);
  }
  return "";
}

Text name_of(const Row& row) { return Text::format("{}  {}", row.base_point, row.metric); }

/// Text that is wrapped, its further lines below the first one's words.
Text describe(const Text& label, const Text& text, const Terminal& terminal) {
  const std::size_t width = terminal.text_width() - 4;
  return label + wrap(text, width - columns(label), columns(label)) + "\n";
}

/// A line per thing in which the two sides differ.
Text compared(const Comparison& all, const Pair& pair, const Terminal& terminal) {
  Text out, label = "compared ";
  if (all.sides.size() > 2)
    label += Text::format("{} vs {}  ", all.sides[pair.other].label, all.sides[pair.base].label);
  for (const std::string& part : compared_parts(all, pair)) {
    out += terminal.paint(describe(label, part, terminal), Ink::strong);
    label = pad("", columns(label));
  }
  return out;
}

/// Bounds in the same words as the ratio between them.
Text bounds(const Row& row) {
  if (!row.estimate) return {};
  if (row.fact) return change_text(row.estimate->ratio);  // it is its own bound
  return Text::format("{} [{}, {}]", change_text(row.estimate->ratio), change_text(row.estimate->low),
                      change_text(row.estimate->high));
}

Text verdict_word(const Row& row) {
  return Text::format("{}{}{}", to_string(row.change), row.gated ? " (gate)" : "",
                      row.reason == Reason::none ? "" : " " + std::string(headrace::to_string(row.reason)));
}

constexpr std::size_t kValue = 11, kBounds = 28, kWord = 24;

/// A line of the table; where a terminal is too narrow for it, two.
Text line(const Row& row, std::size_t width, bool narrow, const Terminal& terminal) {
  const Text sign(terminal.paint(symbol_of(row.change, terminal.ascii()), ink_of(row))),
      base = format_in_unit(row.base.typical, row.unit), other = format_in_unit(row.other.typical, row.unit),
      word = terminal.paint(verdict_word(row), ink_of(row));
  if (narrow)
    return in_lines(Text::format("{} {}  {}", sign, name_of(row), word), terminal, 4) + "\n    " +
           in_lines(Text::format("{} -> {}  {}", base, other, bounds(row)), terminal, 6) + "\n";
  return Text::format("{} {}  {}  {}  {}  {}\n", sign, pad(name_of(row), width), pad(base, kValue, true),
                      pad(other, kValue, true), pad(bounds(row), kBounds), word);
}

/// "and 5 more that say the same: sample_rate, ...".
Text same_text(const std::vector<const Row*>& followers, const Terminal& terminal) {
  std::vector<std::string> names;
  for (const Row* row : followers) names.push_back(row->metric);
  return terminal.paint(describe("    ",
                                 Text::format("and {} more that {} the same: {}", names.size(),
                                              names.size() == 1 ? "says" : "say", join(names)),
                                 terminal),
                        Ink::faint);
}

/// The findings of a pair; with `all` each metric on a line of its own.
Text table(const Comparison& comparison, const Pair& pair, const Terminal& terminal, bool all) {
  struct Finding {
    const Row* row;
    std::vector<const Row*> followers;
  };
  std::vector<Finding> findings;
  std::size_t width = 6, quiet = 0;
  bool within = false;  // a finding that is not reported
  for (const Row& row : pair.rows) {
    const bool own = all || row.says_same_as.empty();
    if (own) within = !all && !row.gated && (row.change == Change::same || row.change == Change::small);
    quiet += within;
    if (within) continue;
    if (own)
      findings.push_back({&row, {}});
    else
      findings.back().followers.push_back(&row);
    if (own) width = std::max(width, columns(name_of(row)));
  }
  const bool narrow =
      terminal.interactive() && static_cast<std::size_t>(terminal.width()) < width + 2 * kValue + kBounds + kWord + 10;
  Text out;
  if (!narrow)
    out = terminal.paint(
        Text::format("\n  {}  {}  {}  {}\n", pad("metric", width), pad(comparison.sides[pair.base].label, kValue, true),
                     pad(comparison.sides[pair.other].label, kValue, true), "change [bounds]"),
        Ink::strong);
  for (const Finding& finding : findings) {
    out += line(*finding.row, width, narrow, terminal);
    if (!finding.followers.empty()) out += same_text(finding.followers, terminal);
  }
  if (quiet > 0) out += Text::format("  {} more the same within their limits (--all shows them)\n", quiet);
  return out;
}

Text pair_text(const Comparison& comparison, const Pair& pair, const Terminal& terminal, bool all) {
  Text out = compared(comparison, pair, terminal);
  for (const std::string& warning : pair.warnings)
    out += terminal.paint(describe("warning  ", warning, terminal), Ink::doubt);
  if (pair.same_run) return out;
  out += table(comparison, pair, terminal, all);
  for (const NotCompared& n : pair.not_compared)
    out += terminal.paint(
        describe("not compared  ", Text::format("{}{}: {}", n.point, n.metric.empty() ? "" : "." + n.metric, n.why),
                 terminal),
        Ink::faint);
  const PairSummary& s = pair.summary;
  const auto open = std::ranges::count(pair.rows, Change::inconclusive, &Row::change);
  const std::string metrics = fmt::format("{} metric{}", pair.rows.size(), pair.rows.size() == 1 ? "" : "s");
  Text reach = open > 0 && s.worse + s.better + s.differs == 0
                   ? Text::format("{} of {} undecided", open, metrics)
                   : Text::format("{} finding{} in {}; at most {:.2g} expected by chance", s.findings,
                                  s.findings == 1 ? "" : "s", metrics, s.expected_by_chance);
  if (s.smallest_visible > 0) reach += "; detection limit (median): " + Text(visible_text(s.smallest_visible));
  return out + "\n" + describe("", reach, terminal);
}

}  // namespace

Text comparison_text(const Comparison& comparison, const Terminal& terminal, bool all) {
  Text out;
  for (const Side& side : comparison.sides)
    out += Text::format("{}  {}  {}  {}  {}\n", terminal.paint(side.label, Ink::strong), side.source, side.first().node,
                        side.first().started_utc, side.first().id);
  out += Text::format("design   {}\n", comparison.design.sentence);
  if (const std::string history = history_sentence(comparison); !history.empty())
    out += describe("history  ", history, terminal);
  for (const Pair& pair : comparison.pairs) out += pair_text(comparison, pair, terminal, all);
  return out;
}

Answer comparison_answer(const Comparison& comparison) {
  const Pair* decides = nullptr;
  for (const Pair& pair : comparison.pairs)
    if (decides == nullptr || worst(pair.summary.word, decides->summary.word) != decides->summary.word) decides = &pair;
  if (decides == nullptr) return {};
  Answer all{.word = comparison.word,
             .sentence = Text::format("{}.", decides->summary.sentence),
             .cause = Text::format("{}.", decides->summary.about_gates)};
  if (decides->same_run) return all;
  for (const Row& row : decides->rows)
    if (all.next.empty() && (row.gated || row.reason == Reason::fingerprint_differs)) all.next = row.next_step;
  return all;
}

Text comparison_last_line(const Comparison& comparison) {
  std::size_t compared = 0;
  unsigned worse = 0, better = 0, same = 0, open = 0;
  for (const Pair& pair : comparison.pairs) {
    compared += pair.summary.findings;
    worse += pair.summary.worse;
    better += pair.summary.better;
    same += pair.summary.same;
    open += pair.summary.inconclusive;
  }
  return Text::format("VERDICT {} compared={} worse={} better={} same={} inconclusive={} exit={}",
                      to_string(comparison.word), compared, worse, better, same, open, comparison.exit_code);
}

}  // namespace headrace::cli
