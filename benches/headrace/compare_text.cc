#include "benches/headrace/compare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/comparison/row_words.h"
#include "harness/units.h"

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

Text differences(const Comparison& all, const Terminal& terminal) {
  Text out;
  for (const FingerprintDifference& d : all.fingerprint) {
    if (!d.matters) continue;
    std::string values;
    for (const std::string& value : d.values)
      values += (values.empty() ? "" : " -> ") + (value.empty() ? "-" : value);
    out +=
        terminal.paint(
            wrap(Text::format("differs{}  {}: {}", d.declared ? " (declared)" : "", d.key, values),
                 96, 9),
            d.declared ? Ink::faint : Ink::doubt) +
        "\n";
  }
  return out;
}

/// Bounds in the same words as the ratio between them.
Text bounds(const Row& row) {
  if (!row.estimate) return "";
  return Text::format("{} [{}, {}]", change_text(row.estimate->ratio),
                      change_text(row.estimate->low), change_text(row.estimate->high));
}

Text line(const Row& row, std::size_t width, const Terminal& terminal) {
  return Text::format(
      "{} {}  {}  {}  {}  {}\n",
      terminal.paint(symbol_of(row.change, terminal.ascii()), ink_of(row)),
      pad(name_of(row), width), pad(format_in_unit(row.base.median, row.unit), 11, true),
      pad(format_in_unit(row.other.median, row.unit), 11, true), pad(bounds(row), 28),
      terminal.paint(
          Text::format(
              "{}{}{}", to_string(row.change), row.gated ? " (gate)" : "",
              row.reason == Reason::none ? "" : " " + std::string(headrace::to_string(row.reason))),
          ink_of(row)));
}

Text pair_text(const Comparison& comparison, const Pair& pair, const Terminal& terminal, bool all) {
  const Side &base = comparison.sides[pair.base], &other = comparison.sides[pair.other];
  const auto told = [&](const Row& row) {
    return all || row.gated || (row.change != Change::same && row.change != Change::small);
  };
  std::size_t width = 6, quiet = 0;
  for (const Row& row : pair.rows) {
    quiet += !told(row);
    if (told(row)) width = std::max(width, columns(name_of(row)));
  }
  Text out;
  for (const std::string& warning : pair.warnings)
    out += terminal.paint("warning  " + Text(warning), Ink::doubt) + "\n";
  out += terminal.paint(
      Text::format("\n  {}  {}  {}  {}\n", pad("metric", width), pad(base.label, 11, true),
                   pad(other.label, 11, true), "change [bounds]"),
      Ink::strong);
  std::set<std::string> steps;
  for (const Row& row : pair.rows) {
    if (!told(row)) continue;
    out += line(row, width, terminal);
    if (!row.next_step.empty() && (row.gated || row.reason == Reason::fingerprint_differs))
      steps.insert(row.next_step);
  }
  if (quiet > 0)
    out += Text::format("  {} more the same within their limits (--all shows them)\n", quiet);
  for (const NotCompared& n : pair.not_compared)
    out += terminal.paint(wrap(Text::format("not compared  {}{}: {}", n.point,
                                            n.metric.empty() ? "" : "." + n.metric, n.why),
                               96, 14),
                          Ink::faint) +
           "\n";
  for (const std::string& step : steps) out += Text::format("next   {}\n", wrap(step, 90, 7));
  const PairSummary& s = pair.summary;
  out += Text::format("\n{} (of {}; at most {:.2g} expected by chance)\n", s.sentence,
                      pair.rows.size(), s.expected_by_chance);
  if (s.smallest_visible > 0)
    out += Text::format("half of the metrics would have shown a change of {:.1f} %\n",
                        s.smallest_visible * 100);
  return out;
}

}  // namespace

Text comparison_text(const Comparison& comparison, const Terminal& terminal, bool all) {
  Text out;
  for (const Side& side : comparison.sides)
    out += Text::format("{}  {}  {}  {}  {}\n", terminal.paint(side.label, Ink::strong),
                        side.source, side.first().node, side.first().started_utc, side.first().id);
  out += differences(comparison, terminal);
  out += Text::format("design   {}\n", comparison.design.sentence);
  if (!comparison.design.interleaved)
    out +=
        comparison.history_sessions > 0
            ? Text::format("history  {} past sessions tell how far sessions lie apart\n",
                           comparison.history_sessions)
            : wrap(Text::format("history  none ({}): a change is claimed only when its bounds lie "
                                "wholly beyond the limit",
                                comparison.history_why),
                   96, 9) +
                  "\n";
  for (const Pair& pair : comparison.pairs) out += pair_text(comparison, pair, terminal, all);
  return out;
}

Text comparison_last_line(const Comparison& comparison) {
  std::size_t compared = 0;
  unsigned worse = 0, better = 0, same = 0, open = 0;
  for (const Pair& pair : comparison.pairs) {
    compared += pair.rows.size();
    worse += pair.summary.worse;
    better += pair.summary.better;
    same += pair.summary.same;
    open += pair.summary.inconclusive;
  }
  return Text::format("VERDICT {} compared={} worse={} better={} same={} inconclusive={} exit={}",
                      comparison.word, compared, worse, better, same, open, comparison.exit_code);
}

}  // namespace headrace::cli
