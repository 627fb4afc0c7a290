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

/// "[7.98, 9.88]", in the unit of the measured value where both have it.
Text bounds(const Judgement& j) {
  if (!j.low || !j.high || *j.low == *j.high) return "";
  std::string low = human(*j.low, j.unit, j.id), high = human(*j.high, j.unit, j.id);
  const std::string measured = j.measured ? human(*j.measured, j.unit, j.id) : "";
  const std::string unit = measured.substr(std::min(measured.find(' '), measured.size()));
  if (!unit.empty() && low.ends_with(unit) && high.ends_with(unit)) {
    low.resize(low.size() - unit.size());
    high.resize(high.size() - unit.size());
  }
  return Text::format("[{}, {}]", low, high);
}

/// " -28 %"; " 8.1 x" from a multiple of the need on.
Text headroom_text(const Judgement& j) {
  constexpr double kMany = 3;
  if (!j.headroom) return "";
  if (*j.headroom >= 1e3) return " > 1000 x";
  if (*j.headroom >= 10) return Text::format(" {:.0f} x", *j.headroom);
  if (*j.headroom >= kMany) return Text::format(" {:.1f} x", *j.headroom);
  return Text::format(" {:+.0f} %{}", (*j.headroom - 1) * 100, j.thin ? ", thin" : "");
}

/// A fact is the same on another day; a measured value may change.
bool holds_for_a_session(const Judgement& j) {
  return (j.outcome == Outcome::pass || j.outcome == Outcome::fail) && j.low != j.high;
}

/// The values that operators look at first: the workload's own, and the middle and tail of the whole operation. Several
/// operations have the tail of each. The rest is in the report.
bool shown(const PointResult& point, std::string_view metric) {
  if (metric == "latency_p50_ns" || metric == "latency_p99_ns") return true;
  if (phases_differ(*point.point->workload) && metric.ends_with("_latency_p99_ns")) return true;
  return std::any_of(point.point->info->metrics.begin(), point.point->info->metrics.end(),
                     [&](const Metric& m) { return m.name == metric; });
}

/// "377 Gbit/s" for rates of network links, which are reported in bits.
std::string in_bits(const PointResult& point, const MetricSummary& metric) {
  const auto& all = point.point->info->metrics;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Metric& m) { return m.name == metric.name; });
  if (found == all.end() || !found->of_a_line) return "";
  return "  " + format_quantity(metric.shown() * 8, Dimension::bits_per_second);
}

/// A metric's name without the unit, which files need and which its value already shows.
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

std::string_view verb_of(const Judgement& j) {
  if (j.metric.starts_with("checkpoint_write")) return "saves";
  return j.metric.starts_with("checkpoint_") ? "restores" : "reads";
}

/// A row for each need; without `details` needs that one test answers alike are one.
std::vector<std::vector<const Judgement*>> rows_of(std::span<const Judgement> judgements, bool details) {
  std::vector<std::vector<const Judgement*>> rows;
  for (const Judgement& j : judgements) {
    const auto alike = [&](const std::vector<const Judgement*>& row) {
      const Judgement& first = *row.front();
      return !j.point.empty() && first.point == j.point && first.outcome == j.outcome && first.reason == j.reason &&
             headroom_text(first).str() == headroom_text(j).str();
    };
    const auto at = details ? rows.end() : std::ranges::find_if(rows, alike);
    if (at == rows.end())
      rows.push_back({&j});
    else
      at->push_back(&j);
  }
  return rows;
}

/// The judgement with this outcome that misses its need by most; nothing when there is none.
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
      return "other load used the machine during the test";
    case Reason::straddles:
      return "the need lies within the range of the measurement";
    case Reason::other_settings:
      return "it was not measured as the job works";
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

Answer answer_of(const RunResult& run, std::optional<double> gpus_fed, double gpus) {
  const Summary& s = run.summary;
  if (s.needs == 0 || run.judgements.empty()) return {};
  unsigned nodes = 1;
  for (const PointResult& point : run.points) nodes = std::max(nodes, point.nodes);
  Answer answer{.word = s.word,
                .sentence = Text::format("{} {}.", nodes > 1 ? "these nodes together" : "this node",
                                         sentence_of(s, gpus_fed, gpus))};
  for (const Outcome outcome : {Outcome::error, Outcome::fail, Outcome::inconclusive, Outcome::skipped}) {
    const Judgement* worst = worst_of(run.judgements, outcome);
    if (worst == nullptr) continue;
    answer.cause = cause_text(*worst);
    answer.next = worst->next_step;
    break;
  }
  return answer;
}

Text left_out_line(const std::string& why, std::uint64_t count) {
  return Text::format("left out: {} file{} ({})", count, count == 1 ? "" : "s", why);
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
      out +=
          Text::format("  the client could take {} times as much; processors: {}{}\n", times, fact("client_processors"),
                       fact("client_limit") == "ports" ? "; its ports are the limit" : "");
    for (const std::string& note : point.notes)
      out += "  " + terminal.paint(wrap("note: " + Text(note), width - 2, 2), Ink::faint) + "\n";
    for (const auto& [why, count] : point.left_out) {
      out += "  " + terminal.paint(left_out_line(why, count), Ink::faint) + "\n";
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
  const bool details = shared.verbosity > 0;
  Text out;
  Table table({{"  requirement", false}, {"needed", true}, {"measured", true}, {"range", false}, {"result", false}});
  std::set<std::string> said;
  for (const std::vector<const Judgement*>& needs : rows_of(run.judgements, details)) {
    const Judgement& j = *needs.front();
    const Ink ink = Terminal::ink_of(j.outcome);
    table.row({terminal.paint(symbol(j.outcome, terminal.ascii()), ink) + " " + Text(plain_name(j)),
               Text(j.higher_is_better ? "" : "<= ") + human(j.need, j.unit, j.id),
               j.measured ? human(*j.measured, j.unit, j.id) : "-", bounds(j),
               terminal.paint(Text(to_string(j.outcome)), ink) + headroom_text(j)});
    if (details) table.remark(Text::format("{} ({}), measured by {} of {}", j.id, j.scope, j.metric, j.point));
    if (needs.size() > 1) {
      Text others = "the same test: ";
      for (std::size_t i = 1; i < needs.size(); ++i)
        others += Text::format("{}{} {} of {}", i > 1 ? ", " : "", plain_name(*needs[i]),
                               needs[i]->measured ? human(*needs[i]->measured, needs[i]->unit, needs[i]->id) : "-",
                               human(needs[i]->need, needs[i]->unit, needs[i]->id));
      table.remark(others);
    }
    const auto remark = [&](const Text& text) {
      if (said.insert(text.str()).second) table.remark(text);
    };
    // A point's disturbance, and why it is not known, is the same for all needs that it answers.
    const bool explains = j.outcome != Outcome::pass || j.lost_to_stalls || j.disturbed > 0;
    const bool known = j.reason != Reason::none || (j.outcome == Outcome::pass && !j.lost_to_stalls);
    if (explains && !j.explanation.empty() &&
        (!known || said.insert(fmt::format("{} {} {}", j.point, to_string(j.outcome), to_string(j.reason))).second))
      remark(j.explanation);
    if (!j.unproven.empty()) remark("not proven: " + Text(j.unproven));
    if (details && !j.way.empty()) remark(Text::format("as the job {}: {}", verb_of(j), j.way));
  }
  if (!run.judgements.empty()) out += table.text(terminal);
  if (std::any_of(run.judgements.begin(), run.judgements.end(), holds_for_a_session))
    out += terminal.paint(
               wrap("Ranges cover this run only: repeat it on other days (headrace history compares runs)", width, 0),
               Ink::faint) +
           "\n";
  std::set<std::string> reported;
  for (const Judgement& j : run.judgements) {
    if (j.outcome == Outcome::pass || j.next_step.empty() || !reported.insert(j.next_step).second) continue;
    out += step_text(reported.size() == 1 ? "next   " : "       ", j.next_step, width);
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
    out +=
        terminal.paint(wrap("not measured by this run: " + Text(join(run.plan->not_asked)), width - 7, 7), Ink::faint) +
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
