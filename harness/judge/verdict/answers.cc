// Questions, evidence, answers.
#include "harness/judge/verdict/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "harness/base/data_path.h"
#include "harness/base/escape.h"
#include "harness/job/need_kinds.h"
#include "harness/judge/verdict/part_faults.h"
#include "harness/judge/verdict/slow_parts.h"
#include "harness/judge/verdict/store_words.h"

namespace headrace::judging {
namespace {

void skip(Judgement& j, std::string why, std::string next) {
  j.outcome = Outcome::skipped;
  j.explanation = std::move(why);
  j.next_step = std::move(next);
}

/// How well a point's groups are the job's.
enum class Fit { none, close, same };

Fit fit(const job::JobCollective& c, const RecordedPoint& point) {
  const auto given = [&](const char* name, const ParamValue& fallback) {
    const auto at = point.params.find(name);
    return at == point.params.end() ? fallback : at->second;
  };
  const auto is = [&](const char* name, double value) {
    return given(name, std::uint64_t{0}) == ParamValue(static_cast<std::uint64_t>(value));
  };
  if (!is("message_size", static_cast<double>(c.message_size()))) return Fit::none;
  if (!is("group_size", 0)) return is("group_size", c.ranks) && is("group_stride", c.stride) ? Fit::same : Fit::none;
  // All of them in one group; no_answer() reports others.
  const ParamValue kind = given("group", std::string("all"));
  return kind == ParamValue(std::string("all")) ||
                 kind == ParamValue(std::string(c.nodes > 1 ? "per_rail" : "intra_node"))
             ? Fit::close
             : Fit::none;
}

bool has(const RecordedPoint& point, const job::JobParameter& wanted) {
  const auto at = point.params.find(wanted.name);
  if (at == point.params.end()) return false;
  const auto* const count = std::get_if<std::uint64_t>(&at->second);
  const auto* const number = std::get_if<double>(&at->second);
  if (count == nullptr && number == nullptr) return false;
  const double value = count != nullptr ? static_cast<double>(*count) : *number;
  constexpr double kRounding = 1e-9;  // of a value that was written as text
  return std::abs(value - wanted.value) <= kRounding * wanted.value;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// As text, as in files.
job::Settings settings(const RecordedPoint& point) {
  job::Settings all;
  for (const auto& [key, value] : point.params)
    all[key] = std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
  return all;
}

std::string workload_of(const std::string& metric) { return metric.substr(0, metric.find('.')); }

/// Why the measurement is no answer although the point's metric is: "" = it is one.
std::string no_answer(const Question& q, const RecordedPoint& point) {
  if (!q.collective || !point.group) return "";
  const bool leave = q.collective->nodes > 1, left = point.group->nodes > 1;
  if (leave == left) return "";
  return leave ? fmt::format("was measured within one node; the job's groups of {:.0f} ranks lie on {:.0f}",
                             q.collective->ranks, q.collective->nodes)
               : fmt::format("was measured between nodes; the job's groups of {:.0f} ranks lie within one",
                             q.collective->ranks);
}

/// Nothing measured it: gives the reason, and a measurement that would.
Judgement unanswered(const Question& q, std::span<const RecordedPoint> points) {
  Judgement j = q.blank;
  const RecordedPoint* other_size = nullptr;
  for (const RecordedPoint& p : points) {
    if (answering_metric(q, p).empty()) continue;
    if (!answers(q, p)) {
      other_size = &p;
      continue;
    }
    j.point = p.id;
    if (p.status == PointStatus::error) {
      j.outcome = Outcome::error;
      j.explanation = fmt::format("{} failed: {}", p.id, p.reason);
      j.next_step = fmt::format("mend that, then run the same command with --only '{}'", p.id);
    } else if (p.status == PointStatus::skipped) {
      skip(j, fmt::format("{} was skipped: {}", p.id, p.reason),
           p.reason.starts_with(kBudgetSpent)
               ? fmt::format("run the same command with --only '{}' and a larger --budget", p.id)
               : "headrace doctor names the missing part and how to get it");
    } else if (const std::string why = no_answer(q, p); !why.empty()) {
      skip(j, fmt::format("{} {}.", p.id, why),
           q.collective->nodes > 1
               ? "start ranks on several nodes: mpirun -n N --hostfile HOSTS headrace qualify ..."
               : fmt::format("add '- {{use: {}, message_size: need, group: need}}' to the "
                             "configuration's workloads",
                             p.params.contains("group") ? p.workload : workload_of(q.measured_by.front())));
    } else if (p.status == PointStatus::ok) {
      const auto missing = p.missing.find(answering_metric(q, p));
      skip(j,
           fmt::format("{} did not report it{}{}.", p.id, missing == p.missing.end() ? "" : ": ",
                       missing == p.missing.end() ? "" : missing->second),
           "");
    } else {
      skip(j, fmt::format("{} was not measured: the run ended before.", p.id),
           fmt::format("run the same command with --only '{}'", p.id));
    }
    return j;
  }
  if (q.workload.empty()) {
    skip(j, "This version of headrace has no workload that measures it.", "");
  } else {
    std::string size = q.collective ? ", message_size: need, group: need" : "";
    for (const job::JobParameter& p : q.with) size += fmt::format(", {}: \"${{job.{}}}\"", p.name, p.key);
    if (const std::string as_job = q.way ? job::settings_of(*q.way, q.workload) : ""; !as_job.empty())
      size += ", " + as_job;
    const std::string cache = size + (q.cache ? fmt::format(", cache: {}", to_string(*q.cache)) : "");
    skip(j,
         other_size == nullptr
             ? "Nothing in this configuration measures it."
             : fmt::format("No point reads as the job does: {} {}.", other_size->id, likeness(q, *other_size).why_not),
         fmt::format("add '- {{use: {}{}}}' to the configuration's workloads", q.workload, cache));
  }
  return j;
}

/// Were all points that would answer skipped, as the machine lacks the part?
bool has_nothing_to_measure(const Question& q, std::span<const RecordedPoint> points) {
  return std::ranges::all_of(points, [&](const RecordedPoint& p) {
    return p.status == PointStatus::skipped || answering_metric(q, p).empty();
  });
}

}  // namespace

job::Likeness likeness(const Question& q, const RecordedPoint& point) {
  if (!q.way) return {};
  return job::likeness(*q.way, point.workload, answering_metric(q, point), settings(point));
}

bool answers(const Question& q, const RecordedPoint& point) { return likeness(q, point).answers; }

std::string answering_metric(const Question& q, const RecordedPoint& point) {
  if (!q.cannot.empty() || (q.cache && *q.cache != point.cache)) return "";
  if (q.collective && fit(*q.collective, point) == Fit::none) return "";
  if (!std::all_of(q.with.begin(), q.with.end(), [&](const auto& p) { return has(point, p); })) return "";
  for (const std::string& metric : q.measured_by) {
    if (workload_of(metric) == point.workload) return metric.substr(point.workload.size() + 1);
  }
  return "";
}

namespace {

/// How many share the measured resource: GPUs of the node that ask, and nodes that measured together.
double parts(const Question& q, const RecordedPoint& point) {
  const bool rate = q.blank.unit.ends_with("/s");
  if (!point.adds || !rate) return q.parts;
  return q.parts * (q.per_process ? point.processes : q.per_node ? point.nodes : 1);
}

/// Higher is better: the metric that is named first.
std::size_t preference(const Question& q, const RecordedPoint& point) {
  const std::string metric = point.workload + "." + answering_metric(q, point);
  const auto at = std::find(q.measured_by.begin(), q.measured_by.end(), metric);
  return static_cast<std::size_t>(q.measured_by.end() - at);
}

/// The first values count, regardless of later ones. A count that misses its need counts in any case.
bool gave_values(const Question& q, const RecordedPoint& p) {
  if (p.status == PointStatus::ok || p.status == PointStatus::interrupted || p.measured_again) return true;
  const std::string metric = answering_metric(q, p);
  if (find_fault_count(metric) == nullptr) return false;
  const std::optional<double> counted = most_counted(p, metric);
  return counted && !q.blank.meets(*counted);
}

bool has_values(const Question& q, const RecordedPoint& p) {
  const std::string metric = answering_metric(q, p);
  return find_fault_count(metric) != nullptr ? most_counted(p, metric).has_value() : !p.values(metric).empty();
}

/// Do two sets that both miss the need contradict each other? The fresh one is beyond the bounds of the first and
/// misses by less than half as much. It misses by no more than a single long run may (twice delta).
bool contradicts(const Judgement& first, double fresh) {
  constexpr double kNear = 0.10;
  const std::optional<double>& bound = first.higher_is_better ? first.high : first.low;
  const auto missed_by = [&](double value) {
    return first.higher_is_better ? 1 - value / first.need : value / first.need - 1;
  };
  const bool beyond = bound && (first.higher_is_better ? fresh > *bound : fresh < *bound);
  return beyond && missed_by(fresh) <= kNear && 2 * missed_by(fresh) < missed_by(*first.measured);
}

/// A FAIL that was measured once more becomes final. It becomes INCONCLUSIVE when the fresh repetitions meet the need
/// or contradict the first.
void confirm(const Question& q, const RecordedPoint& point, Judgement& j) {
  RecordedPoint fresh = point;
  std::erase_if(fresh.repetitions,
                [&](const RecordedRepetition& r) { return r.look < point.looks.looks.size() || !r.is_evidence; });
  // A neighbour mostly slows: a disturbed value can meet the need, but not miss it.
  const bool alone = std::ranges::any_of(fresh.repetitions, [](const auto& r) { return !r.disturbed; });
  if (alone) std::erase_if(fresh.repetitions, [](const auto& r) { return r.disturbed; });
  for (RecordedRepetition& r : fresh.repetitions) {
    r.look = 0;
    r.counted = true;
  }
  Judgement of_fresh = q.blank;
  judge(gather(fresh, answering_metric(q, point), q.blank.unit, parts(q, point), 1), of_fresh);
  if (!of_fresh.measured) {
    j.explanation += " It could not be measured again.";
    return;
  }
  const double again = *of_fresh.measured;
  const bool meets = j.higher_is_better ? again >= j.need : again <= j.need;
  const auto shown = [&j](double value) { return job::format_named(value, j.unit, j.id); };
  const std::string text = shown(again);
  if (!meets && !contradicts(j, again)) {
    j.explanation +=
        fmt::format(" A second measurement after a pause gave {}{}.", text, alone ? "" : ", also disturbed");
    return;
  }
  j.outcome = Outcome::inconclusive;
  j.reason = Reason::straddles;
  j.explanation = fmt::format("{} repetitions missed the need of {} with {}, but {} taken after a pause gave {}{}.",
                              j.repetitions, shown(j.need), shown(*j.measured), of_fresh.repetitions, text,
                              meets ? "" : ": the two sets do not overlap, and the second nearly meets the need");
  j.next_step = fmt::format(
      "something changes from minute to minute: compare the repetitions in report.html, then run "
      "the same command with --only '{}'",
      j.point);
}

/// A point with more at work than the job proves no met need; one with less proves no missed need.
void hold_way(const Question& q, const RecordedPoint& point, Judgement& j) {
  const job::Likeness like = likeness(q, point);
  if (!like.has_way) return;
  if (like.is_as_job()) {
    j.way = job::describe_method(*q.way, point.workload, settings(point));
    return;
  }
  const bool open = (j.outcome == Outcome::pass && like.more) || (j.outcome == Outcome::fail && like.less);
  const char* what = !open                                     ? ""
                     : like.more && j.outcome == Outcome::pass ? ", which may get more"
                                                               : ", which may get less";
  if (open) {
    j.outcome = Outcome::inconclusive;
    j.reason = Reason::other_settings;
    j.thin = false;
    j.next_step = fmt::format("add '- {{use: {}, {}{}}}' to the configuration's workloads: that is how the job does it",
                              point.workload, job::settings_of(*q.way, point.workload),
                              q.cache ? fmt::format(", cache: {}", to_string(*q.cache)) : "");
  }
  j.explanation += fmt::format(" It was measured with {}{}.", fmt::join(like.differs, "; "), what);
}

/// Names in memory can only help: without a proof that they were cold, a PASS is none.
void hold_names(const RecordedPoint& point, Judgement& j) {
  if ((j.outcome != Outcome::pass && j.outcome != Outcome::inconclusive) || j.reason == Reason::cache_unproven) return;
  const auto warm = std::ranges::find_if(
      point.repetitions, [](const RecordedRepetition& r) { return r.counted && r.ok && !r.warm_names.empty(); });
  if (warm == point.repetitions.end() || !job::is_of_names(j.metric)) return;
  j.explanation += fmt::format(" Cold is not proven of the names: {}.", warm->warm_names);
  if (j.outcome != Outcome::pass) return;
  j.outcome = Outcome::inconclusive;
  j.reason = Reason::cache_unproven;
  j.thin = false;
  j.next_step = fmt::format(
      "run the same command with --only '{}' as root, outside of containers: that drops names from memory", j.point);
}

/// The command that lists the unreadable files of the point's data set.
std::string list_unreadable(const RecordedPoint& point) {
  const std::string path = job::setting(settings(point), "path");
  const std::string folder = is_pattern(path) ? folder_of_pattern(path) : path;
  return fmt::format("find -L {} ! -readable", shell_word(folder.empty() ? "." : folder));
}

/// The job opens all files of its data set: a PASS without some of them is none.
void hold_unreadable(const RecordedPoint& point, Judgement& j) {
  const auto found = point.left_out.find(kNotReadable);
  if (found == point.left_out.end() || (j.outcome != Outcome::pass && j.outcome != Outcome::inconclusive)) return;
  j.explanation += fmt::format(" {} of the data set cannot be read: a job that opens {} ends there.",
                               found->second == 1 ? "1 file" : fmt::format("{} files", found->second),
                               found->second == 1 ? "it" : "them");
  if (j.outcome != Outcome::pass) return;
  j.outcome = Outcome::inconclusive;
  j.reason = Reason::other_settings;
  j.thin = false;
  j.next_step = list_unreadable(point) + ": lists them; run as the job's user, or make them readable (chmod a+r)";
}

/// A quota may allow less than the file system's free space. After a save without room, that space proves nothing.
void hold_room(std::span<const RecordedPoint> points, Judgement& j) {
  if (j.metric != "host_facts.free_space" || j.outcome != Outcome::pass) return;
  const auto lacks = std::ranges::find_if(points, [](const RecordedPoint& p) {
    return p.workload == "checkpoint_write" && p.status == PointStatus::error &&
           (p.reason.find("(ENOSPC)") != p.reason.npos || p.reason.find("(EDQUOT)") != p.reason.npos);
  });
  if (lacks == points.end()) return;
  j.outcome = Outcome::inconclusive;
  j.reason = Reason::other_settings;
  j.thin = false;
  j.explanation += fmt::format(" But {} had no room for its save: {}.", lacks->id, lacks->reason);
  j.next_step = "raise the quota of that folder or user, or name another folder (--at FOLDER)";
}

/// headrace decodes faster than training frameworks: a PASS that another decoder would undo is none.
void hold_decoder(const RecordedPoint& point, const std::string& metric, Judgement& j) {
  const auto codec = point.params.find("codec");
  const bool images = codec != point.params.end() && (codec->second == ParamValue(std::string("jpeg")) ||
                                                      codec->second == ParamValue(std::string("png")));
  if (!images || (metric != "accelerator_utilization" && metric != "wall_clock_utilization") ||
      j.outcome != Outcome::pass)
    return;
  const std::vector<double> room = point.values(kDecodeHeadroom);
  const double least = room.empty() ? 0 : *std::ranges::min_element(room);
  if (least >= kSlowestDecoder) return;
  j.outcome = Outcome::inconclusive;
  j.reason = Reason::other_settings;
  j.thin = false;
  j.explanation += fmt::format(
      " It was decoded by headrace's own decoder. A decoder that takes {:.1f} times as long needs all workers or "
      "processors. Those of training frameworks take up to {:.0f} times as long.",
      std::max(1.0, least), kSlowestDecoder);
  j.next_step =
      "measure what the job's own decoder takes: --calibrate pillow, or torchvision, opencv, dali, or a command of "
      "your "
      "own; or state it: dataset.cpu_time_per_sample";
}

}  // namespace

Answer answer(const Question& q, const RecordedPoint& point, unsigned next_look) {
  Answer a;
  Judgement& j = a.judgement;
  j = q.blank;
  const std::string name = answering_metric(q, point);
  j.point = point.id;
  j.metric = fmt::format("{}.{}", point.workload, name);
  if (find_fault_count(name) != nullptr) {
    judge_count(point, name, j);
    return a;
  }
  Evidence e = gather(point, name, q.blank.unit, parts(q, point), q.choices);
  e.next_look = next_look;
  e.too_few_operations = std::count(point.too_few_operations.begin(), point.too_few_operations.end(), name) > 0;
  judge(e, j);
  if (j.outcome == Outcome::fail && contains(q.lower_bounds, j.metric)) {
    j.outcome = Outcome::inconclusive;
    j.reason = Reason::straddles;
    j.explanation += " It also does other work, so the storage can deliver more.";
    j.next_step = fmt::format("add '- {{use: {}}}' to the configuration's workloads: it does nothing else",
                              workload_of(q.measured_by.front()));
  }
  if (q.collective && point.group && j.measured && q.collective->ranks != point.group->ranks)
    j.explanation += fmt::format(" Measured in groups of {} ranks on {} node{}; the job's have {:.0f} on {:.0f}.",
                                 point.group->ranks, point.group->nodes, point.group->nodes == 1 ? "" : "s",
                                 q.collective->ranks, q.collective->nodes);
  a.undecided = undecided(e, j);
  j.unproven = fmt::format("{}", fmt::join(point.unproven, "; "));
  hold_names(point, j);
  hold_unreadable(point, j);
  hold_way(q, point, j);
  hold_decoder(point, name, j);
  report_throttling(point, j);
  name_devices(point, name, j);
  return a;
}

namespace {

/// Which of the points answers, and how good it is for that.
struct Chosen {
  using Rank = std::tuple<Fit, bool, bool, std::size_t>;
  const RecordedPoint* point = nullptr;
  Rank rank;
  job::Likeness like;
  double value = 0;  // the more, the better
};

/// The point's worth as an answer; nothing: it is none.
std::optional<Chosen> candidate(const Question& q, const RecordedPoint& p) {
  if (!gave_values(q, p) || !has_values(q, p) || !no_answer(q, p).empty() || !answers(q, p)) return std::nullopt;
  Chosen one;
  one.point = &p;
  one.like = likeness(q, p);
  // A point as in the job decides, even if its state was not proven: then nothing else is the answer. A point in
  // another state than claimed, or with a metric named later, answers only without any other.
  one.rank = {q.collective ? fit(*q.collective, p) : Fit::close, one.like.is_as_job(), p.unproven_share() == 0,
              preference(q, p)};
  if (const std::string metric = answering_metric(q, p); find_fault_count(metric) != nullptr) {
    one.value = *most_counted(p, metric);  // of several points the one with the most answers
    return one;
  }
  one.value = (q.blank.higher_is_better ? 1 : -1) * answer(q, p, 0).judgement.measured.value_or(0);
  return one;
}

bool is_better(const Chosen& a, const Chosen& b) {
  return a.rank > b.rank || (a.rank == b.rank && job::says_more(a.like, a.value, b.like, b.value));
}

/// A program that is not built to measure fast accepts nothing.
void hold_back(const Question& q, Judgement& j) {
  j.outcome = Outcome::inconclusive;
  j.reason = Reason::other_settings;
  j.explanation = fmt::format("{}: it accepts nothing", q.never_passes);
  j.next_step = "measure with a build of type Release";
}

/// nullptr: none of them answers.
const RecordedPoint* choose(const Question& q, std::span<const RecordedPoint> points) {
  std::map<std::string, Chosen> best;  // by the value of worst_over; "" where that is nothing
  for (const RecordedPoint& p : points) {
    const std::optional<Chosen> one = candidate(q, p);
    if (!one) continue;
    const std::string by = q.worst_over.empty()          ? ""
                           : q.worst_over == kEveryPoint ? p.id
                                                         : job::setting(settings(p), q.worst_over);
    const auto [at, first] = best.emplace(by, *one);
    if (!first && is_better(*one, at->second)) at->second = *one;
  }
  const Chosen* worst = nullptr;
  for (const auto& [by, one] : best)
    if (worst == nullptr || one.rank > worst->rank || (one.rank == worst->rank && one.value < worst->value))
      worst = &one;
  return worst == nullptr ? nullptr : worst->point;
}

}  // namespace

std::vector<Judgement> answer_all(std::span<const Question> all, std::span<const RecordedPoint> points) {
  std::vector<Judgement> judgements;
  for (const Question& q : all) {
    if (!q.cannot.empty()) {
      judgements.push_back(q.blank);
      skip(judgements.back(), q.cannot, "");
      continue;
    }
    const RecordedPoint* const chosen = choose(q, points);
    if (chosen == nullptr && q.optional && has_nothing_to_measure(q, points)) continue;
    judgements.push_back(chosen != nullptr ? answer(q, *chosen, 0).judgement : unanswered(q, points));
    if (chosen != nullptr && read_objects(*chosen))
      report_requests(*chosen, points, answering_metric(q, *chosen), judgements.back());
    if (chosen != nullptr && chosen->measured_again && judgements.back().outcome == Outcome::fail &&
        find_fault_count(answering_metric(q, *chosen)) == nullptr)
      confirm(q, *chosen, judgements.back());
    hold_room(points, judgements.back());
    if (!q.never_passes.empty() && judgements.back().outcome == Outcome::pass) hold_back(q, judgements.back());
  }
  sort_worst_first(judgements);
  return judgements;
}

std::vector<Judgement> judge_run(std::span<const Question> questions, std::span<const RecordedPoint> points) {
  std::vector<Judgement> judgements = answer_all(questions, points), parts = judge_parts(points),
                         faults = judge_faults(points);
  std::move(parts.begin(), parts.end(), std::back_inserter(judgements));
  std::move(faults.begin(), faults.end(), std::back_inserter(judgements));
  sort_worst_first(judgements);
  return judgements;
}

Summary summarize_run(std::span<const Judgement> judgements, std::span<const RecordedPoint> points, int signal) {
  PointCounts counts{.all = static_cast<unsigned>(points.size())};
  for (const RecordedPoint& point : points) {
    counts.skipped += point.status == PointStatus::skipped;
    counts.failed += point.status == PointStatus::error &&
                     std::none_of(judgements.begin(), judgements.end(), [&point](const auto& j) {
                       return j.outcome == Outcome::error && j.point == point.id;
                     });
  }
  return summarize(judgements, signal, counts);
}

}  // namespace headrace::judging
