// headrace compare: finished runs compared with the first of them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "benches/headrace/compare_options.h"
#include "benches/headrace/compare_text.h"
#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/verb.h"
#include "harness/analysis/comparison/blocks.h"
#include "harness/analysis/comparison/output.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/printable.h"
#include "harness/bringup/as_runs.h"
#include "harness/observe/as_run.h"
#include "harness/results/pair_metrics.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;
using comparison::Comparison;

struct CompareArguments {
  std::vector<std::string> runs;
  CompareOptions options;
  std::string history, out, format = "text";
  bool all = false, no_report = false;
};

/// All runs of a folder of interleaved blocks, as they were declared when they were measured.
Comparison compare_blocks(const std::string& folder, comparison::Options options) {
  const comparison::Blocks blocks = comparison::read_blocks(folder);
  options.declared.insert(options.declared.end(), blocks.declared.begin(), blocks.declared.end());
  options.across.insert(options.across.end(), blocks.across.begin(), blocks.across.end());
  if (options.gates.globs().empty()) options.gates = blocks.gates;
  auto sides = comparison::sides_of(blocks, folder);
  if (!options.noise) options.noise = comparison::newest_noise(folder, sides.front().first());
  return comparison::compare(std::move(sides), options);
}

/// A run with the rates of its pairs; of a bring-up the last session; a job that was watched.
results::StoredRun run_at(const std::string& source) {
  const fs::path record = fs::is_directory(source) ? fs::path(source) / bringup::kFile : fs::path(source);
  if (record.filename() == bringup::kFile && fs::is_regular_file(record)) {
    auto sessions = bringup::runs_in(record.string());
    if (sessions.empty()) throw UsageError(record.string() + ": no pair of nodes was measured");
    return std::move(sessions.back());
  }
  if (const fs::path seen = fs::is_directory(source) ? fs::path(source) / observe::kObservationFile : fs::path(source);
      seen.filename() == observe::kObservationFile && fs::is_regular_file(seen))
    return observe::run_in(seen.string());
  results::StoredRun run = results::read_run_file(source);
  results::add_pair_metrics(run);
  return run;
}

Comparison compare_runs(const CompareArguments& arguments) {
  comparison::Options options = compare_options(arguments.options);
  if (arguments.runs.size() == 1) {
    if (!comparison::holds_blocks(arguments.runs.front()))
      throw UsageError("compare: two runs are needed, or one folder of interleaved blocks");
    return compare_blocks(arguments.runs.front(), options);
  }
  if (arguments.runs.size() > 26) throw UsageError("compare: at most 26 runs at once");
  std::vector<comparison::Side> sides;
  std::string problems;
  for (const std::string& source : arguments.runs) {
    try {
      const char label = static_cast<char>('A' + sides.size());
      sides.push_back({std::string(1, label), source, {run_at(source)}, {}});
    } catch (const UsageError& e) {
      problems += (problems.empty() ? "" : "\n") + printable(e.what());
    }
  }
  if (!problems.empty()) throw UsageErrors(problems);
  if (!arguments.history.empty()) {
    options.history_source = arguments.history;
    options.history = past_runs(arguments.history);
    // A compared run is not part of its own history.
    std::erase_if(options.history, [&](const results::StoredRun& past) {
      return std::any_of(sides.begin(), sides.end(), [&](const comparison::Side& side) {
        return side.first().id == past.id && side.first().started_utc == past.started_utc;
      });
    });
  }
  if (!options.noise) {
    const fs::path run = sides.front().first().path;
    options.noise = comparison::newest_noise(run.parent_path().string(), sides.front().first());
  }
  return comparison::compare(std::move(sides), options);
}

/// The page on standard output.
void print_page(const Comparison& comparison) {
  const Drawn drawn = draw_text(comparison_json(comparison));
  if (drawn.page.empty()) throw RunError("no page was drawn: " + drawn.reason);
  print_document(drawn.page);
}

int compare(const CompareArguments& arguments, const Shared& shared) {
  Comparison comparison = compare_runs(arguments);
  comparison.command = shared.command;
  if (!arguments.out.empty()) {
    const MarkedFolder folder = MarkedFolder::make_alone(arguments.out, "comparison");
    comparison::write_comparison(comparison, folder);
    if (!arguments.no_report) {
      const Drawn drawn = draw_into(folder, "comparison.json");
      if (drawn.page.empty()) print_stderr_line(Text::format("report: not drawn: {}", drawn.reason));
    }
  }
  if (arguments.format == "json") {
    print_document(comparison_json(comparison));
  } else if (arguments.format == "csv") {
    print_document(comparison_csv(comparison));
  } else if (arguments.format == "junit") {
    print_document(comparison_junit(comparison));
  } else if (arguments.format == "html") {
    print_page(comparison);
  } else {
    const Terminal terminal(stdout, shared);
    print(answer_text(comparison_answer(comparison), terminal) + comparison_text(comparison, terminal, arguments.all));
    print_line(comparison_last_line(comparison));
  }
  return comparison.exit_code;
}

void add_compare(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("compare", "Compare finished runs: which metrics differ, by how much, and which are undecided");
  auto a = std::make_shared<CompareArguments>();
  verb.option("RUN", a->runs,
              "Run folders, run.json files, report pages or observations, each compared with the first; or one folder "
              "of interleaved blocks")
      .required()
      .at_most(1000);
  add_compare_options(verb, a->options);
  verb.option("--history DIR", a->history, "A folder of at least 8 past runs, which show the spread between sessions");
  verb.option("--out DIR", a->out, "Write comparison.json, comparison.csv, junit.xml and report.html into this folder");
  verb.format(a->format, {"text", "json", "csv", "junit", "html"}, "text, json, csv, junit or html");
  verb.flag("--no-report", a->no_report, "Do not draw report.html");
  verb.flag("--all", a->all, "Show metrics that did not change, too");
  verb.example("headrace compare before after --gate \"*.read_bandwidth\"",
               "Is the second run worse in any read bandwidth?");
  verb.does([&shared, a] { return compare(*a, shared); });
}

const RegisterVerb registered_compare{85, add_compare};

}  // namespace
}  // namespace headrace::cli
