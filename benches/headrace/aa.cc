// headrace aa: the system against itself, and what its comparisons would show by chance.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "benches/headrace/against.h"
#include "benches/headrace/block_progress.h"
#include "benches/headrace/console.h"
#include "benches/headrace/finish_blocks.h"
#include "benches/headrace/terminal.h"
#include "harness/analysis/comparison/row_words.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/system/installation.h"

namespace headrace::cli {
namespace {

struct AaArguments {
  PlanArguments plan;
  CompareOptions compare;
  unsigned pairs = 6;
  std::string out;
  bool json = false, dry_run = false, no_report = false;
};

Text noise_text(const comparison::Noise& noise, const Terminal& terminal) {
  std::size_t width = 6;
  for (const auto& row : noise.rows) width = std::max(width, columns(row.point.id) + columns(row.metric) + 2);
  Text out = terminal.paint(
      Text::format("\n{}  {:>11}  {:>12}  {}\n", pad("metric", width), "noise floor", "false alarms", "called"),
      Ink::strong);
  for (const auto& row : noise.rows)
    out += Text::format("{}  {:>11}  {:>12}  {}\n", pad(Text::format("{}  {}", row.point.id, row.metric), width),
                        "\u00b1" + comparison::share_text(row.noise_floor),
                        comparison::share_text(row.false_alarm_rate), comparison::to_string(row.status));
  const auto summary = noise.summary();
  return out + Text::format(
                   "\nthis system against itself: half of the metrics lie within \u00b1{}; {} of "
                   "such comparisons would call a change\n",
                   comparison::share_text(summary.median), comparison::share_text(summary.false_alarm_rate));
}

int aa(const AaArguments& arguments, const Shared& shared) {
  const Plan plan = make_plan(plan_options(arguments.plan));
  const comparison::Options options = compare_options(arguments.compare);
  const Plan* planned[] = {&plan};
  require_gates(options, planned);
  comparison::Blocks blocks;
  blocks.name = plan.name;
  blocks.planned = arguments.pairs;
  const auto command = turn_command(system::installation().binary, arguments.plan);
  blocks.sides = {{"A", plan.config_file, command}, {"B", plan.config_file, command}};
  blocks.gates = options.gates.globs();
  if (arguments.dry_run) {
    print_line(Text::format("{}blocks    {}, each A B B A of the same: {} runs in all", plan_text(plan, shared),
                            blocks.planned, blocks.planned * comparison::kTurnsPerBlock));
    return 0;
  }
  const MarkedFolder folder = session::blocks_folder(arguments.out, "aa", blocks);
  const auto progress = make_block_progress(shared);
  session::Interleaved result = session::interleave(std::move(blocks), folder, options, false, *progress);
  if (!result.comparison || result.comparison->design.blocks < 2)
    return finish_blocks(result, folder, arguments.json ? OutputForm::json : OutputForm::text, !arguments.no_report,
                         shared);
  comparison::Noise noise = comparison::noise_of(*result.comparison);
  folder.write("aa.json", comparison::noise_json(noise));
  noise.source = folder.folder().path_of("aa.json");
  comparison::set_noise(noise, *result.comparison);  // the page shows its own
  const int code = result.signal != 0 ? exit_code(Outcome::interrupted, result.signal) : noise.exit_code;
  if (arguments.json) {
    finish_blocks(result, folder, OutputForm::none, !arguments.no_report, shared);
    print_document(comparison::noise_json(noise));
    return code;
  }
  print(noise_text(noise, Terminal(stdout, shared)));
  finish_blocks(result, folder, OutputForm::files, !arguments.no_report, shared);
  const auto summary = noise.summary();
  print_line(Text::format("VERDICT {} metrics={} changed={} noise_floor={:.4f} false_alarm_rate={:.4f} exit={}",
                          to_string(result.signal != 0 ? Outcome::interrupted : noise.word), noise.rows.size(),
                          noise.changed(), summary.median, summary.false_alarm_rate, code));
  return code;
}

void add_aa(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("aa", "Measure run-to-run noise (A/A test): noise floor and false-alarm rate of each metric");
  auto a = std::make_shared<AaArguments>();
  add_plan_options(verb, a->plan);
  verb.option("--pairs", a->pairs, "Blocks, each A B B A of the same").between(2, 1000).shows_default();
  verb.group("Details of the comparison", true);
  add_compare_options(verb, a->compare);
  verb.group("Output");
  verb.option("--out DIR", a->out, "Folder; default headrace-runs/TIME-NAME-aa, for later comparisons");
  verb.flag("--dry-run", a->dry_run, "Show the plan; run nothing");
  verb.flag("--json", a->json, "Print aa.json, and nothing else, on standard output");
  verb.flag("--no-report", a->no_report, "Do not draw report.html");
  verb.example("headrace aa -c configs/storage.yaml --only random_read",
               "The noise floor of this machine, which later comparisons find");
  verb.does([&shared, a] { return aa(*a, shared); });
}

const RegisterVerb registered_aa{86, add_aa};

}  // namespace
}  // namespace headrace::cli
