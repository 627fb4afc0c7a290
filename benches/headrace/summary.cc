// The text that a tired operator reads at the end of a run.
#include "benches/headrace/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "benches/headrace/table.h"
#include "benches/headrace/terminal.h"
#include "harness/base/units.h"
#include "harness/job/need_kinds.h"
#include "harness/judge/verdict/slow_parts.h"
#include "harness/workload/workload.h"

namespace headrace::cli {
namespace {

/// A value of the need or metric `name` ("workload.metric") in the unit that people use for it.
std::string human(double value, std::string_view unit, std::string_view name) {
  if (unit == "ratio") return fmt::format("{:.3f}", value);
  return job::format_named(value, unit, name);
}

Text bounds(const std::optional<double>& low, const std::optional<double>& high, std::string_view unit,
            std::string_view name) {
  if (!low && !high) return "";
  if (low && high && *low == *high) return "";
  return Text::format("[{}, {}]", low ? human(*low, unit, name) : "?", high ? human(*high, unit, name) : "?");
}

/// The need's name, with its scope where that is not the node.
Text name_of(const Judgement& j) {
  return j.scope.empty() || j.scope == "node" ? Text(j.id) : Text::format("{} ({})", j.id, j.scope);
}

Text headroom_text(const Judgement& j) {
  if (!j.headroom) return "";
  return Text::format("{:+.0f} %{}", (*j.headroom - 1) * 100, j.thin ? " thin" : "");
}

/// A fact is the same on another day; what was measured need not be.
bool holds_for_a_session(const Judgement& j) {
  return (j.outcome == Outcome::pass || j.outcome == Outcome::fail) && j.low != j.high;
}

/// What operators look at first: the workload's own values and the middle and tail of the whole
/// operation, or the tail of each where there are several. The rest is in the report.
bool shown(const PointResult& point, std::string_view metric) {
  if (metric == "latency_p50_ns" || metric == "latency_p99_ns") return true;
  if (point.point->workload->phases_differ() && metric.ends_with("_latency_p99_ns")) return true;
  return std::any_of(point.point->info->metrics.begin(), point.point->info->metrics.end(),
                     [&](const Metric& m) { return m.name == metric; });
}

/// "377 Gbit/s" of what is measured on networks' lines, whose rates are told so.
std::string in_bits(const PointResult& point, const MetricSummary& metric) {
  const auto& all = point.point->info->metrics;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Metric& m) { return m.name == metric.name; });
  if (found == all.end() || !found->of_a_line) return "";
  return "  " + format_quantity(metric.shown() * 8, Dimension::bits_per_second);
}

/// A metric's name without the unit that files need and the value beside it shows.
std::string_view without_unit(std::string_view metric) {
  for (const std::string_view unit : {"_ns", "_s"}) {
    if (metric.size() > unit.size() && metric.substr(metric.size() - unit.size()) == unit) {
      return metric.substr(0, metric.size() - unit.size());
    }
  }
  return metric;
}

/// "Samples read"; a need that a configuration declares has the name that it gives.
std::string plain_name(const Judgement& j) {
  const job::NeedKind* kind = job::find_need_kind(j.id);
  std::string name(kind == nullptr || kind->name.empty() ? std::string_view(j.id) : kind->name);
  return j.scope.empty() || j.scope == "node" || j.scope == j.id ? name : name + " of " + j.scope;
}

/// Of the needs with this outcome the one that is missed by most; nothing when there is none.
const Judgement* worst_of(std::span<const Judgement> judgements, Outcome outcome) {
  const Judgement* worst = nullptr;
  for (const Judgement& j : judgements)
    if (j.outcome == outcome && (worst == nullptr || j.headroom.value_or(1) < worst->headroom.value_or(1))) worst = &j;
  return worst;
}

std::string_view why_undecided(Reason reason) {
  switch (reason) {
    case Reason::few_reps:
      return "too few repetitions for bounds";
    case Reason::few_ops:
      return "too few operations for this percentile";
    case Reason::not_steady:
      return "the rate kept changing";
    case Reason::cache_unproven:
      return "the reads may have come from memory";
    case Reason::disturbed:
      return "something else used the machine meanwhile";
    case Reason::straddles:
      return "the need lies within the bounds of what was measured";
    case Reason::other_settings:
      return "it was measured with other settings than the job's";
    default:
      return to_string(reason);
  }
}

/// "Samples read: 5.01 k/s of 12.3 k/s needed (41 %)".
Text cause_text(const Judgement& j) {
  Text text = plain_name(j) + ": ";
  if (j.measured) {
    const std::string measured = human(*j.measured, j.unit, j.id), need = human(j.need, j.unit, j.id);
    text += j.higher_is_better ? Text::format("{} of {} needed", measured, need)
                               : Text::format("{}, at most {} allowed", measured, need);
    if (j.headroom && *j.headroom < 1) text += Text::format(" ({:.0f} %)", *j.headroom * 100);
  } else {
    text += "not measured";
  }
  if (j.outcome == Outcome::inconclusive) text += Text::format("; {}", why_undecided(j.reason));
  return text + ".";
}

Text sentence_of(const Summary& s, std::optional<double> gpus_fed, double gpus) {
  const auto requirements = [](unsigned count) {
    return fmt::format("{} requirement{}", count, count == 1 ? "" : "s");
  };
  const std::string fed = gpus_fed ? fmt::format(" and feeds {:.0f} of {:.0f} GPUs", std::floor(*gpus_fed), gpus) : "";
  if (s.fail > 0) return Text::format("misses {} of {}{}", s.fail, requirements(s.needs), fed);
  if (s.pass == s.needs && s.error == 0)
    return Text::format("meets {}", s.needs == 1 ? "the requirement" : "all " + requirements(s.needs));
  Text text = Text::format("meets {} of {}", s.pass, requirements(s.needs));
  const std::pair<unsigned, const char*> others[] = {
      {s.inconclusive, "undecided"}, {s.skipped, "not measured"}, {s.error, "failed"}};
  for (const auto& [count, what] : others)
    if (count > 0) text += Text::format("; {} {}", count, what);
  return text;
}

}  // namespace

Text answer_text(const RunResult& run, std::optional<double> gpus_fed, double gpus, const Shared& shared) {
  const Summary& s = run.summary;
  if (s.needs == 0 || run.judgements.empty()) return "";
  const Terminal terminal(stdout, shared);
  const std::size_t width = terminal.text_width();
  unsigned nodes = 1;
  for (const PointResult& point : run.points) nodes = std::max(nodes, point.nodes);
  Text out =
      terminal.paint(Text(to_string(s.word)), Terminal::ink_of(s.word)) +
      wrap(Text::format(": {} {}.", nodes > 1 ? "these nodes together" : "this node", sentence_of(s, gpus_fed, gpus)),
           width - to_string(s.word).size(), 2) +
      "\n";
  for (const Outcome outcome : {Outcome::error, Outcome::fail, Outcome::inconclusive, Outcome::skipped}) {
    const Judgement* worst = worst_of(run.judgements, outcome);
    if (worst == nullptr) continue;
    out += "  " + wrap(cause_text(*worst), width - 2, 4) + "\n";
    if (!worst->next_step.empty()) out += "Next: " + wrap(worst->next_step, width - 6, 6) + "\n";
    break;
  }
  return out + "\n";
}

Text measured_text(const RunResult& run, const Shared& shared) {
  const Terminal terminal(stdout, shared);
  const std::size_t width = terminal.text_width();
  const std::size_t names = width < 72 ? 20 : 28;  // columns of a metric's name
  Text out;
  for (const PointResult& point : run.points) {
    if (point.status == PointStatus::not_reached) continue;
    out += terminal.paint(point.point->id, Ink::strong);
    const auto good = std::count_if(point.repetitions.begin(), point.repetitions.end(),
                                    [](const Repetition& r) { return r.status == RepetitionStatus::ok; });
    if (point.status == PointStatus::skipped || point.status == PointStatus::error) {
      const bool skipped = point.status == PointStatus::skipped;
      out += "  " +
             terminal.paint(Text(skipped ? "skipped: " : "error: ") + point.reason, skipped ? Ink::faint : Ink::bad) +
             "\n\n";
      continue;
    }
    std::ptrdiff_t judged = 0, proven = 0;
    const CacheProof* unproven = nullptr;  // the first
    for (const Repetition& r : point.repetitions) {
      if (!r.counted) continue;
      ++judged;
      proven += r.cache.proven;
      if (unproven == nullptr && !r.cache.is_evidence()) unproven = &r.cache;
    }
    out += Text::format("  {} repetition{}", good, good == 1 ? "" : "s");
    if (point.point->cache != CacheState::asis)
      out += Text::format(", {} ({} of {} proven)", to_string(point.point->cache), proven, judged);
    out += "\n";
    if (unproven != nullptr) {
      const Text why = Text::format("not proven {}: {}", to_string(unproven->declared), unproven->why);
      out += "  " + terminal.paint(wrap(why, width - 2, 2), Ink::bad) + "\n";
    }
    for (const MetricSummary& metric : point.metrics) {
      if (!shown(point, metric.name)) continue;
      const std::string name = fmt::format("{}.{}", point.point->info->name, metric.name);
      Text interval;
      if (metric.values.size() > 1 && metric.low != metric.high) {
        interval = Text::format("[{}, {}]{}", human(metric.low, metric.unit, name),
                                human(metric.high, metric.unit, name), metric.is_range ? " range" : "");
      }
      const Text value = Text::format("  {} {}{}", pad(without_unit(metric.name), names),
                                      pad(human(metric.shown(), metric.unit, name), 12, true), in_bits(point, metric));
      const auto beside = [&](const Text& more) {  // or below, where there is no room
        return columns(value) + columns(interval) + 2 + columns(more) > width ? Text("\n    ") : Text("  ");
      };
      out += value + (interval.empty() ? Text() : beside("") + interval);
      if (metric.too_few_operations) {
        const Text too_few = "too few operations for this percentile";
        out += beside(too_few) + too_few;
      }
      out += "\n";
    }
    const auto fact = [&](std::string_view name) {
      const auto at = std::ranges::find(point.facts, name, [](const auto& f) { return std::string_view(f.first); });
      return at == point.facts.end() ? std::string() : at->second;
    };
    if (const std::string times = fact("client_headroom"); !times.empty())
      out += Text::format("  the client could take {} times as much: {} processors{} (A29)\n", times,
                          fact("client_processors"),
                          fact("client_limit") == "ports" ? ", and then its ports are used up" : "");
    for (const std::string& note : point.notes)
      out += "  " + terminal.paint(wrap("note: " + Text(note), width - 2, 2), Ink::faint) + "\n";
    for (const auto& [why, count] : point.left_out) {
      out += "  " + terminal.paint(Text::format("left out: {} files {}", count, why), Ink::faint) + "\n";
    }
    if (point.verified && point.wrong_blocks.empty()) out += "  verified: every byte as it should be\n";
    for (const WrongBlock& wrong : point.wrong_blocks) {
      out += "  " +
             terminal.paint(Text::format("wrong data: {} at {}: {}", wrong.file, wrong.offset, wrong.why), Ink::bad) +
             "\n";
    }
    out += "\n";
  }
  for (const ScalingCurve& curve : run.scaling) out += "scaling: " + wrap(curve.finding, width - 9, 9) + "\n";
  if (!run.scaling.empty()) out += "\n";
  return out;
}

Text verdict_text(const RunResult& run, const Shared& shared) {
  const Terminal terminal(stdout, shared);
  const std::size_t width = terminal.text_width();
  Text out;
  Table table({{"  need", false}, {"measured", true}, {"bounds", false}, {"needed", true}, {"headroom", false}, {}});
  const Judgement* told_last = nullptr;
  std::set<std::string> told_ways, told_open;
  for (const Judgement& j : run.judgements) {
    const Ink ink = Terminal::ink_of(j.outcome);
    table.row({terminal.paint(symbol(j.outcome, terminal.ascii()), ink) + " " + name_of(j),
               j.measured ? human(*j.measured, j.unit, j.id) : "-", bounds(j.low, j.high, j.unit, j.id),
               Text(j.higher_is_better ? "" : "<= ") + human(j.need, j.unit, j.id), headroom_text(j),
               terminal.paint(Text::format("{}{}", to_string(j.outcome),
                                           j.reason == Reason::none ? "" : " " + std::string(to_string(j.reason))),
                              ink)});
    // What disturbed a point, and why it is not known, is told once of all needs that it answers.
    const bool same_matter = j.reason != Reason::none || (j.outcome == Outcome::pass && !j.lost_to_stalls);
    const bool again = told_last != nullptr && same_matter && told_last->reason == j.reason &&
                       told_last->outcome == j.outcome && told_last->point == j.point;
    const bool tells = j.outcome != Outcome::pass || j.lost_to_stalls || j.disturbed > 0;
    if (tells && !j.explanation.empty() && !again) {
      told_last = &j;
      table.remark(j.explanation);
    }
    if (!j.unproven.empty() && told_open.insert(j.unproven).second) table.remark("not proven: " + Text(j.unproven));
    if (!j.way.empty() && told_ways.insert(j.way).second)
      table.remark(Text::format("as the job {}: {}",
                                j.metric.starts_with("checkpoint_write") ? "saves"
                                : j.metric.starts_with("checkpoint_")    ? "restores"
                                                                         : "reads",
                                j.way));
  }
  if (!run.judgements.empty()) out += table.text(terminal);
  if (std::any_of(run.judgements.begin(), run.judgements.end(), holds_for_a_session))
    out += terminal.paint(wrap("bounds hold for this session; what another day gives, only another run tells "
                               "(headrace history)",
                               width, 0),
                          Ink::faint) +
           "\n";
  std::set<std::string> told;
  for (const Judgement& j : run.judgements) {
    if (j.outcome == Outcome::pass || j.next_step.empty() || !told.insert(j.next_step).second) continue;
    out += Text::format("{} {}\n", told.size() == 1 ? "next  " : "      ", wrap(j.next_step, width - 7, 7));
  }
  std::vector<std::string> left;
  std::string why;
  for (const PointResult& point : run.points) {
    if (point.status != PointStatus::not_reached) continue;
    left.push_back(point.point->id);
    why = point.reason;
  }
  if (!left.empty())
    out += wrap(Text::format("not reached: {}: {}; the same command with --only '{}' measures the rest", join(left),
                             why, join(left, ",")),
                width, 7) +
           "\n";
  if (run.plan != nullptr && !run.plan->not_asked.empty()) {
    out += terminal.paint(wrap("not asked for by this configuration: " + Text(join(run.plan->not_asked)), width - 7, 7),
                          Ink::faint) +
           "\n";
  }
  return out;
}

Text last_line(const Summary& s, std::span<const Judgement> judgements) {
  std::vector<std::string> bad;
  for (const Judgement& j : judgements)
    if (j.outcome == Outcome::fail && judging::of_a_part(j)) bad.push_back(j.scope);
  Text line = Text::format("VERDICT {} needs={} pass={} fail={} inconclusive={} skipped={} error={}", to_string(s.word),
                           s.needs, s.pass, s.fail, s.inconclusive, s.skipped, s.error);
  if (!bad.empty()) line += Text::format(" bad=\"{}\"", join(bad));
  return line + Text::format(" exit={}", s.exit_code);
}

}  // namespace headrace::cli
