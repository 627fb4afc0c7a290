// headrace size: can what was measured feed a planned job, how many GPUs, and what would change it?
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/run_folders.h"
#include "benches/headrace/size_text.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/base/printable.h"
#include "harness/files/marked_folder.h"
#include "harness/sizing/sizing.h"
#include "harness/system/installation.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string job, out, format = "text";
  std::vector<std::string> runs, overrides;
  bool no_report = false;
};

/// Every run below the given folders; all that cannot be read is told at once.
std::vector<results::StoredRun> all_runs(const Arguments& arguments) {
  std::vector<std::string> files;
  for (const std::string& path : arguments.runs)
    for (std::string& file : run_files_below(path, "size")) files.push_back(std::move(file));
  std::vector<Unreadable> unreadable;
  auto runs = read_runs(files, unreadable, false);
  std::string problems;
  for (const Unreadable& one : unreadable) problems += (problems.empty() ? "" : "\n") + printable(one.why);
  if (!problems.empty()) throw UsageErrors(problems);
  return runs;
}

int size(const Arguments& arguments, const Shared& shared) {
  const auto job = requirements::load_job(system::find_shipped(arguments.job), arguments.overrides);
  const auto runs = all_runs(arguments);
  sizing::Sizing sizing = sizing::size(job, arguments.job, runs);
  sizing.noise = comparison::noise_beside(runs.front());
  std::string page;
  if (!arguments.out.empty()) {
    const MarkedFolder folder = MarkedFolder::make_alone(arguments.out, "sizing");
    folder.write("size.json", sizing_json(sizing));
    if (!arguments.no_report) page = drawn_or_told(folder, "size.json");
  }
  if (arguments.format == "json") {
    print_document(sizing_json(sizing));
    return sizing.exit_code;
  }
  print(sizing_text(sizing, Terminal(stdout, shared)));
  if (!page.empty()) print(Text::format("page    {}\n", page));
  print_line(sizing_last_line(sizing));
  return sizing.exit_code;
}

void add_size(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("size", "How many GPUs of a planned job the measured storage feeds, and what would feed more");
  auto a = std::make_shared<Arguments>();
  verb.option("JOB", a->job, "Job description (configs/jobs/*.yaml)").required();
  verb.option("--runs RUN", a->runs,
              "Run folders, run.json files, pages, or folders of runs. Runs of several nodes "
              "at the same time are taken together")
      .required();
  verb.option("--set KEY=VALUE", a->overrides, "Change the job: KEY=VALUE, as in step.time=100ms").one_value_each();
  verb.option("--out DIR", a->out, "Write size.json and report.html into this folder");
  verb.flag("--no-report", a->no_report, "Do not draw report.html");
  verb.format(a->format, {"text", "json"}, "text or json");
  verb.example("headrace size configs/jobs/resnet50-imagenet.yaml --runs before",
               "How many GPUs the storage of a finished run feeds");
  verb.does([&shared, a] { return size(*a, shared); });
}

const RegisterVerb registered{86, add_size};

}  // namespace
}  // namespace headrace::cli
