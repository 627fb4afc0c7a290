#include "benches/headrace/fleet_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/analysis/comparison/row_words.h"
#include "harness/base/units.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kMostRows = 20;  // of each kind; all stand in fleet.json

Ink ink_of(fleet::Status status) {
  return status == fleet::Status::confirmed ? Ink::bad : status == fleet::Status::suspected ? Ink::doubt : Ink::faint;
}

Text sign(fleet::Status status, const Terminal& terminal) {
  const Outcome as = status == fleet::Status::confirmed   ? Outcome::fail
                     : status == fleet::Status::suspected ? Outcome::inconclusive
                                                          : Outcome::pass;
  return terminal.paint(symbol(as, terminal.ascii()), ink_of(status));
}

/// The first lines of a list, and how many more there are.
template <class T, class Line>
Text some(const std::vector<T>& items, const char* what, Line line) {
  Text out;
  for (std::size_t i = 0; i < items.size() && i < kMostRows; ++i) out += line(items[i]);
  if (items.size() > kMostRows) out += Text::format("  {} more {}\n", items.size() - kMostRows, what);
  return out;
}

}  // namespace

Text fleet_text(const fleet::Fleet& f, const Terminal& terminal) {
  using namespace fleet;
  Text out;
  for (const Group& g : f.groups) {
    if (f.groups.size() > kMostRows && &g - f.groups.data() >= static_cast<long>(kMostRows)) break;
    out += in_lines(Text::format("{}  {} node{}{}", terminal.paint(g.id, Ink::strong), g.nodes, g.nodes == 1 ? "" : "s",
                                 g.judged ? Text() : "  " + Text(g.why)),
                    terminal, 4) +
           "\n";
    for (const GroupDifference& d : g.differs)
      out += "    " +
             terminal.paint(in_lines(Text::format("{}: {} (usual: {})", d.key, d.value.empty() ? "-" : d.value,
                                                  d.usual.empty() ? "-" : d.usual),
                                     terminal, 6),
                            Ink::faint) +
             "\n";
    for (const GroupShift& one : g.shifts)
      out += Text::format("    {} of {}: {} from {}\n", f.metrics[one.metric].metric, f.metrics[one.metric].point,
                          comparison::change_text(1 + one.shift), f.groups[0].id);
  }
  out += "\n";
  out += some(f.effects, "shared shifts", [&](const GroupEffect& e) {
    Text text = in_lines(Text::format("{} {}  {}", sign(e.status, terminal),
                                      terminal.paint(to_string(e.status), ink_of(e.status)), e.explanation),
                         terminal, 4) +
                "\n";
    if (!e.next_step.empty()) text += "    " + terminal.paint(e.next_step, Ink::faint) + "\n";
    return text;
  });
  out += some(f.outliers, "outliers", [&](const Outlier& o) {
    const Text who = terminal.paint(Text::format("{} {}", f.nodes[o.node].name, to_string(o.status)), ink_of(o.status));
    Text text = in_lines(Text::format("{} {}  {}", sign(o.status, terminal), who, o.explanation), terminal, 4) + "\n";
    if (!o.next_step.empty()) text += "    " + terminal.paint(o.next_step, Ink::faint) + "\n";
    return text;
  });
  for (const JudgedPairs& p : f.pairs)
    out += some(p.findings, "slow pairs", [&](const JudgedPair& one) {
      const Text who =
          terminal.paint(Text::format("{} {}", one.finding.subject, to_string(one.status)), ink_of(one.status));
      return in_lines(
                 Text::format("{} {}  {}: {}", sign(one.status, terminal), who, one.finding.kind, one.finding.reported),
                 terminal, 4) +
             "\n";
    });
  out += some(f.missing, "missing", [&](const Missing& m) {
    const Text sign = terminal.paint(symbol(Outcome::skipped, terminal.ascii()), Ink::doubt);
    return in_lines(Text::format("{} {}  {}", sign, m.node, m.why), terminal, 4) + "\n    " +
           terminal.paint(m.next_step, Ink::faint) + "\n";
  });
  out += some(f.unreadable, "unreadable", [&](const fleet::Unreadable& u) {
    return Text::format("{} {}\n", terminal.paint(symbol(Outcome::error, terminal.ascii()), Ink::bad),
                        in_lines(u.why, terminal, 2));
  });
  if (f.noise)
    out += Text::format(
        "\nnodes against themselves: noise floor \u00b1{:.2g} % on {} of them, highest "
        "\u00b1{:.2g} % ({})\n",
        100 * f.noise->median, f.noise->nodes, 100 * f.noise->highest, f.noise->highest_node);
  return out;
}

Answer fleet_answer(const fleet::Fleet& f) {
  using fleet::Status;
  Answer all{.word = f.word, .sentence = Text(f.sentence)};
  for (const Status status : {Status::confirmed, Status::suspected}) {
    for (const fleet::GroupEffect& e : f.effects)
      if (e.status == status && all.cause.empty()) all.cause = e.explanation, all.next = e.next_step;
    for (const fleet::Outlier& o : f.outliers)
      if (o.status == status && all.cause.empty())
        all.cause = f.nodes[o.node].name + ": " + o.explanation, all.next = o.next_step;
    for (const fleet::JudgedPairs& pairs : f.pairs)
      for (const fleet::JudgedPair& one : pairs.findings)
        if (one.status == status && all.cause.empty()) all.cause = one.finding.subject + ": " + one.finding.reported;
  }
  if (all.cause.empty() && !f.missing.empty())
    all.cause = f.missing.front().node + ": " + f.missing.front().why, all.next = f.missing.front().next_step;
  return all;
}

Text fleet_last_line(const fleet::Fleet& f) {
  using fleet::Status;
  return Text::format(
      "VERDICT {} expected={} reported={} judged={} outliers={} suspects={} group_effects={} "
      "suspected_effects={} slow_pairs={} suspected_pairs={} needs_failed={} error={} "
      "inconclusive={} without_needs={} missing={} exit={}",
      headrace::to_string(f.word), f.expected, f.reported, f.judged, f.count(Status::confirmed),
      f.count(Status::suspected), f.effects_that_are(Status::confirmed), f.effects_that_are(Status::suspected),
      f.pairs_that_are(Status::confirmed), f.pairs_that_are(Status::suspected), f.saying(Outcome::fail),
      f.saying(Outcome::error), f.saying(Outcome::inconclusive), f.saying(Outcome::measured),
      f.missing.size() + f.unreadable.size(), f.exit_code);
}

}  // namespace headrace::cli
