#include "benches/headrace/simulate_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "benches/headrace/table.h"
#include "harness/analysis/simulate/sheet.h"
#include "harness/base/units.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kMostGains = 5;

/// Is the value divided by 1.1, and not multiplied?
bool is_lowered(const simulate::Gain& gain) {
  return std::ranges::find(simulate::sheet_keys(), gain.key, &simulate::SheetKey::path)->less_helps;
}

Text nodes_text(double nodes) { return Text::format("{:.0f} node{}", nodes, nodes == 1 ? "" : "s"); }

Text share_text(const simulate::Spread* s) {
  if (s == nullptr) return "-";
  const auto percent = [](double ratio) { return Text::format("{:.0f}", 100 * ratio); };
  if (percent(s->low).str() == percent(s->high).str()) return percent(s->median) + " %";
  return Text::format("{} % [{}, {}]", percent(s->median), percent(s->low), percent(s->high));
}

Text time_text(const simulate::Spread* s) {
  return s == nullptr ? Text("-") : Text(format_quantity(s->median, Dimension::seconds, false, 2));
}

/// The time that ranks wait for a save, as the job does it.
const simulate::Spread* save_of(const simulate::Scale& scale) {
  const simulate::Spread* const copy = scale.find(simulate::Figure::save_copy);
  return copy != nullptr && copy->required ? copy : scale.find(simulate::Figure::save_time);
}

Text scales_text(const simulate::Simulation& s, const Terminal& terminal) {
  Table table({{"nodes", true},
               {"busy, epoch 1"},
               {"later epochs"},
               {"save", true},
               {"restore", true},
               {"goodput"},
               {"limit"}});
  bool extrapolated = false;
  for (const simulate::Scale& scale : s.scales) {
    const simulate::Spread* const tight = scale.tightest();
    const bool misses = tight != nullptr && tight->is_expected_to_miss();
    const simulate::Spread* const goodput = scale.find(simulate::Figure::goodput);
    extrapolated = extrapolated || !scale.shown;
    table.row({Text::format("{:.0f}{}", scale.nodes, scale.shown ? "" : "*"),
               share_text(scale.find(simulate::Figure::first_epoch_busy)),
               share_text(scale.find(simulate::Figure::later_epochs_busy)), time_text(save_of(scale)),
               time_text(scale.find(simulate::Figure::restore_time)),
               goodput == nullptr ? Text("-") : Text::format("{:.1f} %", 100 * goodput->median),
               misses ? terminal.paint(Text(simulate::to_string(tight->limit)), Ink::bad) : Text()});
  }
  Text out = table.text(terminal);
  out += in_lines("expected values: median over all seeds [5th to 95th percentile]", terminal, 0) + "\n";
  if (extrapolated)
    out +=
        in_lines("* extrapolated: no run and no sheet shows the store with this number of nodes", terminal, 2) + "\n";
  return out;
}

Text breaks_text(const simulate::Simulation& s, const Terminal& terminal) {
  Text out;
  for (const simulate::Break& b : s.breaks) {
    const simulate::FigureKind& kind = simulate::kind_of(b.figure);
    const Text where = b.nodes <= 0     ? Text::format("needs at least {}", nodes_text(b.holds_from))
                       : b.holds_to > 0 ? Text::format("is missed from {} on; {} still meet{} it", nodes_text(b.nodes),
                                                       nodes_text(b.holds_to), b.holds_to == 1 ? "s" : "")
                                        : Text("is missed on any number of nodes");
    out += in_lines(Text::format("limit      {}, {}: {}; cause: {}", kind.scenario, kind.title, where,
                                 simulate::to_string(b.limit)),
                    terminal, 11) +
           "\n";
  }
  const simulate::FigureKind& kind = simulate::kind_of(s.gained);
  for (std::size_t i = 0; i < std::min(kMostGains, s.gains.size()); ++i) {
    const simulate::Gain& g = s.gains[i];
    const Text price = g.price > 0 ? Text::format(" for {:.0f} USD", g.price) : Text();
    out += in_lines(Text::format("helps      {} {}{}: {} better ({}, {})", g.key, is_lowered(g) ? "- 9 %" : "+ 10 %",
                                 price, format_percent(g.gain), kind.title, kind.scenario),
                    terminal, 11) +
           "\n";
  }
  return out;
}

}  // namespace

Answer simulation_answer(const simulate::SimulationPlan&, const simulate::Simulation& s) {
  Answer answer{.word = s.word, .sentence = s.sentence, .cause = s.cause};
  if (!s.gains.empty() && !s.breaks.empty())
    answer.next = Text::format("{} {} by {} % helps most", is_lowered(s.gains.front()) ? "lowering" : "raising",
                               s.gains.front().key, is_lowered(s.gains.front()) ? 9 : 10);
  else
    answer.next = "measure with more nodes at once; a simulation never passes";
  return answer;
}

Text simulation_text(const simulate::SimulationPlan& plan, const simulate::Simulation& s, const Terminal& terminal) {
  Text out = scales_text(s, terminal) + "\n" + breaks_text(s, terminal);
  for (const std::string& one : plan.system.from) out += in_lines("from       " + Text(one), terminal, 11) + "\n";
  for (const std::string& one : s.missing) out += in_lines("missing    " + Text(one), terminal, 11) + "\n";
  return out;
}

Text simulation_last_line(const simulate::SimulationPlan& plan, const simulate::Simulation& s) {
  return Text::format(
      "VERDICT {} nodes={:.0f} breaks_at={} seeds={} seed={} exit={}", headrace::to_string(s.word),
      s.scales.back().nodes,
      s.breaks.empty() || s.breaks.front().nodes <= 0 ? Text("-") : Text::format("{:.0f}", s.breaks.front().nodes),
      plan.seeds, plan.seed, exit_code(s.word));
}

}  // namespace headrace::cli
