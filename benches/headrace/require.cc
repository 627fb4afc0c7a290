// headrace require: what a described job needs of storage, host, GPU links and network; and what
// if.
#include <fmt/format.h>

#include <cstdio>

#include "benches/headrace/console.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/config/document.h"
#include "harness/files/output.h"
#include "harness/requirements/comparison.h"
#include "harness/requirements/explanation.h"
#include "harness/requirements/job_keys_output.h"
#include "harness/requirements/job_sweep.h"
#include "harness/requirements/need_output.h"
#include "harness/system/installation.h"

namespace headrace::cli {
namespace {

using namespace requirements;

struct Arguments {
  std::string job;
  std::string format = "text";
  std::vector<std::string> overrides, sweep, needs;
  std::string plot;
  bool explain = false, compare = false, keys = false;
};

/// The output in the format that was asked for.
std::string choose(const std::string& format, auto text, auto json, auto csv) {
  return format == "json" ? json() : format == "csv" ? csv() : text();
}

std::string sweep_output(const Arguments& arguments, const std::string& path) {
  Diagnostics problems;
  config::Value root = config::read_yaml(path, problems);
  problems.throw_if_any();
  for (const std::string& assignment : arguments.overrides) config::apply_override(root, assignment, problems);
  problems.throw_if_any();
  const Sweep sweep = sweep_job(root, arguments.sweep, arguments.needs);
  if (!arguments.plot.empty()) {
    const bool html = arguments.plot.ends_with(".html");
    files::write_output(arguments.plot, html ? sweep_html(sweep) : sweep_svg(sweep));
    tell_line(Text::format("wrote {}", arguments.plot));
  }
  return choose(
      arguments.format, [&] { return sweep_text(sweep); }, [&] { return sweep_json(sweep); },
      [&] { return sweep_csv(sweep); });
}

std::string comparison_output(const Arguments& arguments, const std::string& path) {
  if (arguments.overrides.empty()) throw UsageError("--compare: give what to change with --set KEY=VALUE");
  const Job before = load_job(path), after = load_job(path, arguments.overrides);
  return choose(
      arguments.format, [&] { return comparison_text(before, after, arguments.overrides); },
      [&] { return comparison_json(before, after, arguments.overrides); },
      [&] { return comparison_csv(before, after); });
}

int require(const Arguments& arguments) {
  if (arguments.keys) {
    print_document(job_keys_text());
    return 0;
  }
  if (arguments.job.empty()) throw UsageError("require: JOB is missing: a job description, as in configs/jobs/*.yaml");
  if (!arguments.plot.empty() && arguments.sweep.empty())
    throw UsageError("--plot: give what to draw with --sweep KEY=RANGE");
  if (!arguments.plot.empty() && !arguments.plot.ends_with(".svg") && !arguments.plot.ends_with(".html"))
    throw UsageError(fmt::format("--plot: {}: the name must end in .svg or .html", arguments.plot));
  if (arguments.compare && !arguments.sweep.empty()) throw UsageError("--compare and --sweep do not go together");
  const std::string path = system::find_shipped(arguments.job);
  std::string text;
  if (!arguments.sweep.empty()) {
    text = sweep_output(arguments, path);
  } else if (arguments.compare) {
    text = comparison_output(arguments, path);
  } else {
    const Job job = load_job(path, arguments.overrides);
    const std::vector<Need> needs = derive_needs(job);
    text = choose(
        arguments.format, [&] { return needs_text(job, needs); }, [&] { return needs_json(job, needs); },
        [&] { return needs_csv(needs); });
    if (arguments.explain && arguments.format == "text") text += '\n' + locked_text(job);
  }
  print_document(text);
  return 0;
}

void add_require(Verbs& verbs, Shared&) {
  Verb verb = verbs.add("require", "What a job needs, each need with its equation and numbers");
  auto a = std::make_shared<Arguments>();
  verb.option("JOB", a->job, "Job description (configs/jobs/*.yaml)");
  verb.format(a->format, {"text", "json", "csv"}, "text, json or csv");
  verb.option("--set KEY=VALUE", a->overrides, "Override KEY=VALUE, as in step.time=100ms (repeatable)")
      .one_value_each();
  verb.flag("--keys", a->keys, "List the keys of a job file, and nothing else");
  verb.flag("--explain", a->explain, "Also tell which keys would give further needs");
  verb.flag("--compare", a->compare, "Needs before and after the overrides, side by side");
  verb.option("--sweep KEY=RANGE", a->sweep,
              "Needs over KEY=FIRST..LAST*FACTOR, FIRST..LAST+STEP or A,B,C (repeatable: crossed)");
  verb.option("--need GLOB", a->needs,
              "Sweep: only needs that match, as in 'ingest.*' or 'ingest.read_bandwidth@node'");
  verb.option("--plot FILE", a->plot, "Sweep: draw it, too (FILE.svg or FILE.html)");
  verb.example("headrace require configs/jobs/resnet50-imagenet.yaml --set step.time=100ms --compare",
               "What a faster step would need");
  verb.does([a] { return require(*a); });
}

const RegisterVerb registered{10, add_require};

}  // namespace
}  // namespace headrace::cli
