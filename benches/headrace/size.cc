// headrace size: can what was measured feed a planned job, how many GPUs, and what would change it?
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "benches/headrace/console.h"
#include "benches/headrace/plan_options.h"
#include "benches/headrace/progress.h"
#include "benches/headrace/run_folders.h"
#include "benches/headrace/session/measure.h"
#include "benches/headrace/session/run_folder.h"
#include "benches/headrace/size_text.h"
#include "benches/headrace/terminal_audience.h"
#include "benches/headrace/verb.h"
#include "harness/analysis/sizing/sizing.h"
#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/printable.h"
#include "harness/base/system/installation.h"
#include "harness/engine/plan/room.h"
#include "harness/results/result_store.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

struct SizeArguments {
  std::string job, out, format = "text";
  std::string at, data, max_write, budget;  // for measuring where there are no runs
  std::vector<std::string> runs, overrides;
  bool no_report = false;
};

/// Every run below the given folders; all that cannot be read is reported at once.
std::vector<results::StoredRun> all_runs(const SizeArguments& arguments) {
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

/// Sizes the job by the runs, and prints and writes the result.
int size(const SizeArguments& arguments, const std::vector<results::StoredRun>& runs, const Shared& shared) {
  const auto job = job::load_job(system::find_shipped(arguments.job), arguments.overrides);
  sizing::Sizing sizing = sizing::size(job, arguments.job, runs);
  sizing.noise = comparison::noise_beside(runs.front());
  std::optional<MarkedFolder> folder;
  if (!arguments.out.empty()) folder = MarkedFolder::make_alone(arguments.out, "sizing");
  print_findings({.name = "size",
                  .json = [&] { return sizing_json(sizing); },
                  .answer = sizing_answer(sizing),
                  .text = [&](const Terminal& terminal) { return sizing_text(sizing, terminal); },
                  .last_line = sizing_last_line(sizing)},
                 folder, !arguments.no_report, arguments.format, shared);
  return sizing.exit_code;
}

/// Sizes the job with a result as soon as it is measured.
class Sized final : public TerminalAudience {
 public:
  Sized(const SizeArguments& arguments, const Shared& shared) : arguments_(arguments), shared_(shared) {}

  std::unique_ptr<RunObserver> watch(const Plan& plan) override { return make_progress(shared_, plan); }

  int finished(const RunResult& run, const MarkedFolder* folder, std::vector<std::string>) override {
    const int code = size(arguments_, {results::stored_run(run, folder)}, shared_);
    if (folder != nullptr && arguments_.format != "json")
      print_stderr_line(Text::format("measured in {}; to size it again: headrace size {} --runs {}", folder->path(),
                                     shell_word(arguments_.job), shell_word(folder->path())));
    return code;
  }

 private:
  const SizeArguments& arguments_;
  const Shared& shared_;
};

/// Measures the job, as qualify does.
int measure_and_size(const SizeArguments& arguments, const Shared& shared) {
  job::load_job(system::find_shipped(arguments.job),
                arguments.overrides);  // its errors are reported first
  PlanArguments wanted;
  wanted.job = arguments.job;
  wanted.at = arguments.at;
  wanted.data = arguments.data;
  wanted.max_write = arguments.max_write;
  wanted.budget = arguments.budget;
  for (const std::string& assignment : arguments.overrides) wanted.set.push_back("job." + assignment);
  Sized audience(arguments, shared);
  return session::measure(
      [&] {
        Plan plan = make_plan(plan_options(wanted));
        check_room(plan, session::kRuns);
        return plan;
      },
      {.out = {}, .peer = {}, .token = {}, .command = shared.command}, audience);
}

int size_or_measure(const SizeArguments& arguments, const Shared& shared) {
  if (arguments.runs.empty()) return measure_and_size(arguments, shared);
  for (const auto& [option, value] : {std::pair{"--at", &arguments.at},
                                      {"--data", &arguments.data},
                                      {"--max-write", &arguments.max_write},
                                      {"--budget", &arguments.budget}})
    if (!value->empty())
      throw UsageError(
          fmt::format("{} starts a new measurement, and --runs uses finished ones: give only one of them", option));
  return size(arguments, all_runs(arguments), shared);
}

void add_size(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("size", "How many GPUs of a job the measured storage feeds, and which upgrades feed more");
  auto a = std::make_shared<SizeArguments>();
  verb.option("JOB", a->job, "Job description (configs/jobs/*.yaml)").required();
  verb.option("--runs RUN", a->runs,
              "Run folders, run.json files, pages, or folders of runs. Runs of several nodes "
              "at the same time are taken together. Without any, headrace measures the job first");
  verb.option("--at DIR", a->at, "Without --runs: scratch folder for generated data, on the storage to be sized");
  verb.option("--data PATH", a->data, "Without --runs: data set of the job that is there already, only read");
  verb.option("--max-write SIZE", a->max_write, "Without --runs: most bytes that may be written, such as 4GiB");
  verb.option("--budget TIME", a->budget, "Without --runs: longest time of measuring (5min)");
  verb.option("--set KEY=VALUE", a->overrides, "Change the job: KEY=VALUE, as in step.time=100ms").one_value_each();
  verb.option("--out DIR", a->out, "Write size.json and report.html into this folder");
  verb.flag("--no-report", a->no_report, "Do not draw report.html");
  verb.format(a->format, {"text", "json"}, "text or json");
  verb.example("headrace size configs/jobs/resnet50-imagenet.yaml --runs before",
               "How many GPUs the storage of a finished run feeds");
  verb.example("headrace size configs/jobs/resnet50-imagenet.yaml --at /tmp/headrace-scratch --budget 2min",
               "The same of storage that is measured now");
  verb.does([&shared, a] { return size_or_measure(*a, shared); });
}

const RegisterVerb registered_size{86, add_size};

}  // namespace
}  // namespace headrace::cli
