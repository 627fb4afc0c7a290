#include "benches/headrace/size_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/units.h"

namespace headrace::cli {
namespace {

using namespace sizing;

/// A number of GPUs; far more than the job has is told as just that.
Text count(const Bounded& b, double gpus) {
  const auto told = [&](double fed) {
    return fed > kMany * gpus ? Text::format(">{:.0f}x", kMany) : Text::format("{:.0f}", fed);
  };
  return told(b.low).str() == told(b.high).str()
             ? told(b.median)
             : Text::format("{} [{}, {}]", told(b.median), told(b.low), told(b.high));
}

Text percent(double ratio) { return Text::format("{:+.0f} %", (ratio - 1) * 100); }

/// The point that answered, and in what it is not as the job plans.
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
  std::size_t width = 5;
  for (const Phase& p : s.phases) width = std::max(width, columns(p.title));
  Text out = terminal.paint(Text::format("\n  {}  {}  {}  {}  {}\n", pad("phase", width), pad("needs", 10, true),
                                         pad("gives [bounds]", 34), pad("headroom", 9, true), "GPUs fed [bounds]"),
                            Ink::strong);
  for (const Phase& p : s.phases) {
    const auto told = [&](double v) { return format_in_unit(v, p.unit); };
    const Text gives = p.supply.value.low == p.supply.value.high
                           ? Text(told(p.supply.value.median))
                           : Text::format("{} [{}, {}]{}", told(p.supply.value.median), told(p.supply.value.low),
                                          told(p.supply.value.high), p.supply.is_range ? " range" : "");
    out += Text::format(
        "{} {}  {}  {}  {}  {}{}\n", terminal.paint(symbol(p.outcome, terminal.ascii()), Terminal::ink_of(p.outcome)),
        pad(p.title, width), pad(told(p.demand.need), 10, true), pad(gives, 34),
        pad(percent(p.headroom.median), 9, true), p.gpus_fed ? count(*p.gpus_fed, s.job.cluster.gpus()) : Text(),
        p.supply.basis == Basis::measured ? Text() : Text::format("  {}", to_string(p.supply.basis)));
    out += "    " + terminal.paint(wrap(answered_by(p), 92, 4), Ink::faint) + "\n";
    if (p.outcome != Outcome::pass) {
      out += "    " + terminal.paint(wrap(p.explanation, 92, 4), Ink::faint) + "\n";
      if (!p.next_step.empty()) out += "    " + terminal.paint(wrap(p.next_step, 92, 4), Ink::faint) + "\n";
    }
  }
  for (const NotMeasured& n : s.not_measured)
    out += Text::format("{} {}  not measured\n    {}\n    {}\n",
                        terminal.paint(symbol(Outcome::skipped, terminal.ascii()), Ink::faint), pad(n.title, width),
                        terminal.paint(wrap(n.why, 92, 4), Ink::faint), n.command);
  return out;
}

Text calendar_text(const Calendar& c) {
  Text out = Text::format("calendar   every {} a save that takes {} and blocks for {} ({} allowed)",
                          format_duration(c.interval_s), format_duration(c.save_s), format_duration(c.stall_s),
                          format_duration(c.stall_allowed_s));
  if (c.restore_s) out += Text::format("; a restore takes {}", format_duration(*c.restore_s));
  if (c.lost) out += Text::format("; {:.2g} % of the time is lost", *c.lost * 100);
  if (c.best_interval_s) out += Text::format("; least every {} (Daly, E16)", format_duration(*c.best_interval_s));
  return wrap(out, 96, 11) + "\n";
}

Text cost_text(const Starvation& s) {
  Text out =
      Text::format("starvation accelerators are busy at most {:.0f} % of the time ({})", s.utilization * 100, s.phase);
  if (s.cost_usd_per_h) out += Text::format(": {:.4g} USD/h are spent on waiting", *s.cost_usd_per_h);
  return wrap(out, 96, 11) + "\n";
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
    const Text fed =
        !f.phase_headroom ? Text("GPUs fed: not known")
        : f.phase_gpus_fed
            ? Text::format("GPUs fed: {}{}", f.gpus_fed ? count(*f.gpus_fed, s.job.cluster.gpus()) : Text("not known"),
                           f.capped ? " (all)" : "")
            : Text::format("{}: headroom {}", kind_title(s, f.phase), percent(f.phase_headroom->median));
    // Another phase may hold the job back whatever is done here.
    const bool held_back = f.phase_gpus_fed && f.gpus_fed && f.phase_gpus_fed->median > f.gpus_fed->median;
    const Text alone = held_back ? Text::format("; {} alone: {}", kind_title(s, f.phase),
                                                count(*f.phase_gpus_fed, s.job.cluster.gpus()))
                                 : Text();
    out += Text::format("  {}  {}{}  {}\n", terminal.paint(f.title, Ink::strong), fed, alone,
                        f.basis ? Text::format("({})", to_string(*f.basis)) : Text());
    out += "    " + wrap(f.explanation, 92, 4) + "\n";
    out += "    " + terminal.paint(f.command, Ink::faint) + "\n";
  }
  return out;
}

Text sizing_text(const Sizing& s, const Terminal& terminal) {
  Text out = Text::format("{}: {:.0f} GPUs on {:.0f} node{}; safety margin {:.3g}\n",
                          s.job.description.empty() ? s.job.name : s.job.description, s.job.cluster.gpus(),
                          s.job.cluster.nodes, s.job.cluster.nodes == 1 ? "" : "s", s.job.safety);
  for (const Session& session : s.sessions)
    out +=
        terminal.paint(Text::format("run {} on {}{}", session.front()->id, session.front()->node,
                                    session.size() > 1 ? Text::format(" and {} more at once", session.size() - 1) : ""),
                       Ink::faint) +
        "\n";
  out += phases_text(s, terminal) + "\n";
  out += wrap("capacity   " + Text(s.capacity.explanation), 96, 11) + "\n";
  if (s.calendar) out += calendar_text(*s.calendar);
  if (s.starvation) out += cost_text(*s.starvation);
  out += fixes_text(s, terminal);
  return out + "\n" + wrap(s.sentence, 96, 0) + "\n";
}

Text sizing_last_line(const Sizing& s) {
  return Text::format("VERDICT {} gpus_fed={} gpus={:.0f} phase={} basis={} exit={}", headrace::to_string(s.word),
                      s.gpus_fed ? Text::format("{:.0f}", s.gpus_fed->median) : Text("-"), s.job.cluster.gpus(),
                      s.limiting, to_string(s.basis), s.exit_code);
}

}  // namespace headrace::cli
