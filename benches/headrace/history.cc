// headrace history: one machine over time.
#include "harness/analysis/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "benches/headrace/compare_options.h"
#include "benches/headrace/run_folders.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/analysis/comparison/row_words.h"
#include "harness/base/diagnostics.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/units.h"
#include "harness/base/utc.h"
#include "harness/results/stored_verdict.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;
using history::Direction;
using history::History;
using history::Series;

struct HistoryArguments {
  std::vector<std::string> folders, metrics;
  std::string since, out, format = "text", delta, delta_tail;
  bool no_report = false, all = false;
};

Ink ink_of(Direction direction) {
  return direction == Direction::worse ? Ink::bad : direction == Direction::better ? Ink::good : Ink::doubt;
}

/// "left out: 2 cache-unproven, 1 missing"
Text left_out_text(const Series& s) {
  std::map<std::string, std::size_t> why;
  for (const history::LeftOut& one : s.left_out) ++why[one.why];
  Text out = "left out:";
  const char* before = "";
  for (const auto& [reason, runs] : why) {
    out += Text::format("{} {} {}", before, runs, reason);
    before = ",";
  }
  return out;
}

Text series_text(const History& h, const Series& s, const Terminal& terminal) {
  Text head = Text::format("{}  {}  {} run{}", terminal.paint(s.point + "  " + s.metric, Ink::strong), s.node,
                           s.run.size(), s.run.size() == 1 ? "" : "s");
  Text out;
  if (!s.why.empty()) {
    out += in_lines(head + "  " + terminal.paint(s.why, Ink::faint), terminal, 4) + "\n";
    if (!s.newest.left_out_for.empty()) out += "  " + terminal.paint(s.newest.explanation, Ink::doubt) + "\n";
    return out;
  }
  head += Text::format("  {}", format_in_unit(s.levels.back().median, s.unit));
  out += in_lines(head, terminal, 4) + "\n";
  for (const history::Change& c : s.changes) {
    const std::string change = c.before == 0 ? "no longer 0" : comparison::change_text(c.after / c.before);
    const Text reported = Text::format(
        "{} {} -> {}  {}  from {} on",
        terminal.paint(Text::format("{} {}", change, history::to_string(c.direction)), ink_of(c.direction)),
        format_in_unit(c.before, s.unit), format_in_unit(c.after, s.unit), Text::format("p = {:.2g}", c.p),
        h.runs[s.run[c.at]].started_utc);
    out += "  " + in_lines(reported, terminal, 4) + "\n";
    for (const std::string& event : c.events)
      out += "    " + terminal.paint(in_lines(event, terminal, 6), Ink::faint) + "\n";
  }
  if (s.wanders)
    out += "  " +
           terminal.paint(in_lines("it may be a drift: a run resembles the one before it", terminal, 4), Ink::doubt) +
           "\n";
  if (s.two_levels) out += "  " + terminal.paint(in_lines(s.two_levels->explanation, terminal, 4), Ink::doubt) + "\n";
  if (!s.left_out.empty()) out += "  " + terminal.paint(left_out_text(s), Ink::faint) + "\n";
  if (s.newest.unusual || !s.newest.left_out_for.empty())
    out += "  " + terminal.paint(in_lines(s.newest.explanation, terminal, 2), Ink::doubt) + "\n";
  return out;
}

Text history_text(const History& h, const Terminal& terminal, bool all) {
  Text out;
  std::size_t unchanged = 0, too_short = 0;
  for (const Series& s : h.series) {
    const bool reported =
        all || !s.changes.empty() || s.two_levels || s.newest.unusual || !s.newest.left_out_for.empty();
    unchanged += !reported && s.why.empty();
    too_short += !reported && !s.why.empty();
    if (reported) out += series_text(h, s, terminal);
  }
  const auto hidden = [&](std::size_t count, const char* what) {
    if (count > 0) out += Text::format("{}{} {} (--all shows them)\n", count, out.str().empty() ? "" : " more", what);
  };
  hidden(unchanged, "without a change");
  hidden(too_short, "too short to judge");
  for (const history::Together& one : h.together)
    out = "all at once  " + in_lines(Text(one.explanation), terminal, 13) + "\n" + out;
  for (const auto& [path, why] : h.unreadable) out += Text::format("unreadable: {}\n", why);
  return out;
}

/// In seconds since 1970. Impossible days, such as 2026-02-30, are refused.
double since_s(const std::string& text) {
  auto since = results::unix_seconds(text);
  if (!since) since = results::unix_seconds(text + "T00:00:00Z");
  if (!since || !text.starts_with(utc_text(*since).substr(0, 10)))
    throw UsageError(fmt::format("--since: '{}' is not a time; write 2026-03-04 or 2026-03-04T12:00:00Z", text));
  return *since;
}

void leave_out_older(std::vector<results::StoredRun>& runs, const std::string& since) {
  const double from_s = since_s(since);
  std::string newest;
  for (const results::StoredRun& run : runs) newest = std::max(newest, run.started_utc);
  std::erase_if(runs, [&](const auto& run) { return results::unix_seconds(run.started_utc).value_or(0) < from_s; });
  if (runs.empty() && !newest.empty())
    throw UsageError(fmt::format("--since {}: no run is that new; the newest is of {}", since, newest));
}

int history_verb(const HistoryArguments& arguments, const Shared& shared) {
  history::Options options;
  options.delta_rate = share_of("--delta", arguments.delta, options.delta_rate);
  options.delta_tail = share_of("--delta-tail", arguments.delta_tail, options.delta_tail);
  options.metrics = arguments.metrics;
  std::vector<std::string> files;
  for (const std::string& folder : arguments.folders)
    for (std::string& file : run_files_below(folder, "history", Also::bringups)) files.push_back(std::move(file));
  std::vector<Unreadable> unreadable;
  auto runs = read_runs(files, unreadable, true);
  if (!arguments.since.empty()) leave_out_older(runs, arguments.since);
  std::vector<std::pair<std::string, std::string>> bad;
  for (const Unreadable& one : unreadable) bad.emplace_back(one.path, one.why);
  const auto newest = std::max_element(runs.begin(), runs.end(),
                                       [](const auto& a, const auto& b) { return a.started_utc < b.started_utc; });
  const auto noise = newest == runs.end() ? std::nullopt : comparison::noise_beside(*newest);
  History judged = history::judge(std::move(runs), options, std::move(bad));
  judged.noise = noise;
  std::optional<MarkedFolder> folder;
  if (!arguments.out.empty()) folder = MarkedFolder::make_alone(arguments.out, "history");
  print_findings({.name = "history",
                  .json = [&] { return history_json(judged); },
                  .csv = [&] { return history_csv(judged); },
                  .answer = answer_of(judged.word, judged.sentence),
                  .text = [&](const Terminal& terminal) { return history_text(judged, terminal, arguments.all); },
                  .last_line = Text::format("VERDICT {} runs={} series={} changes={} unusual={} "
                                            "missing={} left_out={} too_short={} exit={}",
                                            headrace::to_string(judged.word), judged.runs.size(), judged.series.size(),
                                            judged.changes, judged.unusual, judged.missing, judged.left_out,
                                            judged.too_short, judged.exit_code)},
                 folder, !arguments.no_report, arguments.format, shared);
  return judged.exit_code;
}

void add_history(Verbs& verbs, Shared& shared) {
  Verb verb =
      verbs.add("history", "Find when metrics changed over past runs, by how much, and which settings changed then");
  auto a = std::make_shared<HistoryArguments>();
  verb.option("DIR", a->folders, "Folders with run folders, or bring-ups, in them, however deep").required();
  verb.option("--metric GLOB", a->metrics,
              "Metrics to follow, as in 'shard_stream.read_bandwidth' (repeatable); default: "
              "those that needs were judged by, else each workload's first")
      .one_value_each();
  verb.option("--since TIME", a->since, "Only runs from this time on (UTC), as in 2026-03-04 or 2026-03-04T12:00:00Z");
  verb.option("--delta SHARE", a->delta, "Smallest change that matters (default 5%)");
  verb.option("--delta-tail SHARE", a->delta_tail, "The same for tails (default 10%)");
  verb.option("--out DIR", a->out, "Write history.json, history.csv and report.html into this folder");
  verb.flag("--no-report", a->no_report, "Do not draw report.html");
  verb.flag("--all", a->all, "Show series without a change, too");
  verb.format(a->format, {"text", "json", "csv"}, "text, json or csv");
  verb.example("headrace history runs --since 2026-01-01",
               "When a metric changed its level, and what else changed then");
  verb.does([&shared, a] { return history_verb(*a, shared); });
}

const RegisterVerb registered_history{88, add_history};

}  // namespace
}  // namespace headrace::cli
