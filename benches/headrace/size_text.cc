#include "benches/headrace/size_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "benches/headrace/table.h"
#include "harness/base/escape.h"
#include "harness/base/units.h"

namespace headrace::cli {
namespace {

using namespace sizing;

/// A number of GPUs; far more than the job has is reported as just that.
Text count(const Bounded& b, double gpus) {
  const auto describe = [&](double fed) {
    return fed > kMany * gpus ? Text::format(">{:.0f}x", kMany) : Text::format("{:.0f}", fed);
  };
  return describe(b.low).str() == describe(b.high).str()
             ? describe(b.mean)
             : Text::format("{} [{}, {}]", describe(b.mean), describe(b.low), describe(b.high));
}

Text percent(double ratio) {
  constexpr double kTimes = 10;  // percentages above are hard to read
  return ratio > kMany    ? Text::format(">{:.0f} x", kMany)
         : ratio > kTimes ? Text::format("{:.0f} x", ratio)
                          : Text::format("{:+.0f} %", (ratio - 1) * 100);
}

/// The phase's nodes that its supply feeds.
Text fed(const Phase& p) {
  if (!p.gpus_fed) return Text();
  return p.whole ? count(*p.gpus_fed, p.gpus) : count(*p.gpus_fed, p.gpus) + Text::format(" of {:.0f}", p.gpus);
}

/// The point that answered, and its differences from the job's plan.
Text answered_by(const Phase& p) {
  Text out = p.supply.point;
  if (p.supply.sessions > 1) out += Text::format(", {} sessions", p.supply.sessions);
  const char* before = ": ";
  for (const std::string& difference : p.supply.differs) {
    out += Text::format("{}{}", before, difference);
    before = "; ";
  }
  return out;
}

Text phases_text(const Sizing& s, const Terminal& terminal) {
  Table table({{"  phase"}, {"needs", true}, {"gives"}, {"bounds"}, {"headroom", true}, {"GPUs fed"}, {}});
  for (const Phase& p : s.phases) {
    const auto describe = [&](double v) { return format_in_unit(v, p.unit); };
    const Bounded& given = p.supply.value;
    table.row({terminal.paint(symbol(p.outcome, terminal.ascii()), Terminal::ink_of(p.outcome)) + " " + Text(p.title),
               describe(p.need_here()), describe(given.mean),
               given.low == given.high ? Text()
                                       : Text::format("[{}, {}]{}", describe(given.low), describe(given.high),
                                                      p.supply.is_range ? " range" : ""),
               percent(p.headroom.mean), fed(p),
               !p.whole          ? Text::format("{:.0f} of {:.0f} nodes", p.nodes, s.job.cluster.nodes)
               : p.is_expected() ? Text::format("expected from {}", p.measured_on())
               : p.supply.basis == Basis::measured ? Text()
                                                   : Text(to_string(p.supply.basis))});
    table.remark(answered_by(p));
    if (p.outcome == Outcome::pass) continue;
    table.remark(p.explanation);
    if (!p.next_step.empty()) table.remark(p.next_step);
  }
  Text out = "\n" + table.text(terminal);
  for (const NotMeasured& n : s.not_measured)
    out += Text::format("{} {}: not measured\n    {}\n    {}\n",
                        terminal.paint(symbol(Outcome::skipped, terminal.ascii()), Ink::faint), n.title,
                        terminal.paint(in_lines(n.why, terminal, 4), Ink::faint), n.command);
  return out;
}

/// Before figures that follow from an expected rate; "" where all of `phases` were measured.
Text expected_from(const Sizing& s, std::initializer_list<std::string_view> phases) {
  for (const Phase& p : s.phases)
    if (p.is_expected() && std::ranges::find(phases, p.phase) != phases.end())
      return Text::format("expected from {}, within the bounds above: ", p.measured_on());
  return "";
}

Text calendar_text(const Sizing& s, const Terminal& terminal) {
  const Calendar& c = *s.calendar;
  Text out = Text::format("calendar   {}every {} a save that takes {} and blocks for {} ({} allowed)",
                          expected_from(s, {"checkpoint_save", "checkpoint_restore"}), format_duration(c.interval_s),
                          format_duration(c.save_s), format_duration(c.stall_s), format_duration(c.stall_allowed_s));
  if (c.restore_s) out += Text::format("; a restore takes {}", format_duration(*c.restore_s));
  if (c.lost) out += Text::format("; {:.3g} % of the time is lost", *c.lost * 100);
  if (c.best_interval_s) out += Text::format("; least every {} (Daly)", format_duration(*c.best_interval_s));
  return in_lines(out, terminal, 11) + "\n";
}

Text cost_text(const Sizing& sizing, const Terminal& terminal) {
  const Starvation& s = *sizing.starvation;
  Text out = Text::format("starvation {}GPUs are busy for at most {:.0f} % of the time ({})",
                          expected_from(sizing, {s.phase}), s.utilization * 100, s.phase);
  if (s.wall_clock)
    out += Text::format(
        " after the first step, as MLPerf counts it. Of a whole epoch it is {:.3g} %: filling the pipeline takes {}",
        100 * s.wall_clock->utilization, format_duration(s.wall_clock->fill_s));
  if (s.cost_usd_per_h) out += Text::format(". Waiting costs {:.3g} USD/h", *s.cost_usd_per_h);
  return in_lines(out, terminal, 11) + "\n";
}

Text kind_title(const Sizing& s, const std::string& phase) {
  for (const Phase& p : s.phases)
    if (p.phase == phase) return p.title;
  return phase;
}

}  // namespace

Text fixes_text(const Sizing& s, const Terminal& terminal) {
  if (s.fixes.empty()) return "";
  Text out = terminal.paint("\nwhat would help\n", Ink::strong);
  for (const Fix& f : s.fixes) {
    const Text fed = !f.phase_headroom ? Text("GPUs fed: not known")
                     : f.phase_gpus_fed && f.gpus_fed
                         ? Text::format("GPUs fed: {}{}{}", f.basis == Basis::extrapolated ? "expected " : "",
                                        count(*f.gpus_fed, s.job.cluster.gpus()), f.capped ? " (all)" : "")
                         : Text::format("{}: headroom {}", kind_title(s, f.phase), percent(f.phase_headroom->mean));
    // Another phase may limit the job despite any change here.
    const bool held_back = f.phase_gpus_fed && f.gpus_fed && f.phase_gpus_fed->mean > f.gpus_fed->mean;
    const Text alone = held_back ? Text::format("; {} alone: {}", kind_title(s, f.phase),
                                                count(*f.phase_gpus_fed, s.job.cluster.gpus()))
                                 : Text();
    const Text what = terminal.paint(f.title, Ink::strong) + "  " + fed + alone +
                      (f.basis ? Text::format("  ({})", to_string(*f.basis)) : Text());
    out += "  " + in_lines(what, terminal, 4) + "\n";
    out += "    " + in_lines(f.explanation, terminal, 4) + "\n";
    out += "    " + terminal.paint(f.command, Ink::faint) + "\n";
  }
  return out;
}

Text sizing_text(const Sizing& s, const Terminal& terminal) {
  const Text head = Text::format("{}: {:.0f} GPUs on {:.0f} node{}; safety margin {:.3g}",
                                 s.job.description.empty() ? s.job.name : s.job.description, s.job.cluster.gpus(),
                                 s.job.cluster.nodes, s.job.cluster.nodes == 1 ? "" : "s", s.job.safety);
  Text out = in_lines(head, terminal, 4) + "\n";
  for (const Session& session : s.sessions)
    out +=
        terminal.paint(Text::format("run {} on {}{}", session.front()->id, session.front()->node,
                                    session.size() > 1 ? Text::format(" and {} more at once", session.size() - 1) : ""),
                       Ink::faint) +
        "\n";
  out += phases_text(s, terminal) + "\n";
  out += in_lines("capacity   " + Text(s.capacity.explanation), terminal, 11) + "\n";
  if (!s.samples.empty()) out += in_lines("samples    " + Text(s.samples), terminal, 11) + "\n";
  if (s.calendar) out += calendar_text(s, terminal);
  if (s.starvation) out += cost_text(s, terminal);
  for (const PredictionRecord& r : s.predictions)
    out += in_lines("predicted  " + Text(r.reported), terminal, 11) + "\n";
  return out + fixes_text(s, terminal);
}

Answer sizing_answer(const Sizing& s) {
  Answer all = answer_of(s.word, s.sentence);
  if (s.limiting == "capacity") {
    all.next = Text::format("headrace qualify {} --at DIR  # DIR: on storage with {} free", shell_word(s.job_file),
                            format_quantity(s.capacity.needed, Dimension::bytes));
    return all;
  }
  if (s.fixes.empty() || s.word == Outcome::pass) return all;
  const Fix& first = s.fixes.front();
  all.next = first.command.empty() ? Text(first.title) : Text::format("{}  # {}", first.command, first.title);
  return all;
}

Text sizing_last_line(const Sizing& s) {
  return Text::format("VERDICT {} gpus_fed={} gpus={:.0f} nodes={:.0f}/{:.0f} phase={} basis={} exit={}",
                      headrace::to_string(s.word), s.gpus_fed ? Text::format("{:.0f}", s.gpus_fed->mean) : Text("-"),
                      s.job.cluster.gpus(), s.measured_nodes, s.job.cluster.nodes, s.limiting, to_string(s.basis),
                      s.exit_code);
}

}  // namespace headrace::cli
