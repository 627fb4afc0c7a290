// headrace require: what a described job needs of storage, host, GPU links and network.
#include <cstdio>

#include "benches/headrace/verb.h"
#include "harness/requirements/need_output.h"
#include "harness/system/installation.h"

namespace headrace::cli {
namespace {

struct Arguments {
  std::string job;
  std::string format = "text";
  std::vector<std::string> overrides;
};

int require(const Arguments& arguments) {
  using namespace requirements;
  const Job job = load_job(system::find_shipped(arguments.job), arguments.overrides);
  const std::vector<Need> needs = derive_needs(job);
  const std::string text = arguments.format == "json"  ? needs_json(job, needs)
                           : arguments.format == "csv" ? needs_csv(needs)
                                                       : needs_text(job, needs);
  std::fputs(text.c_str(), stdout);
  return 0;
}

void add_require(CLI::App& app, Shared&, std::function<int()>& run) {
  auto* verb =
      app.add_subcommand("require", "What a job needs, each need with its equation and numbers");
  auto arguments = std::make_shared<Arguments>();
  verb->add_option("JOB", arguments->job, "Job description (configs/jobs/*.yaml)")->required();
  verb->add_option("--format", arguments->format, "text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  verb->add_flag_callback(
      "--json", [arguments] { arguments->format = "json"; }, "The same as --format json");
  verb->add_option("--set", arguments->overrides,
                   "Override KEY=VALUE, as in step.time=100ms (repeatable)");
  verb->callback([&run, arguments] { run = [arguments] { return require(*arguments); }; });
}

const RegisterVerb registered{10, add_require};

}  // namespace
}  // namespace headrace::cli
