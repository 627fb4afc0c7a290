// headrace require: what a described job needs of storage, host, GPU links and network; what if; and by which formulas.
#include <fmt/format.h>

#include <cstdio>

#include "benches/headrace/console.h"
#include "benches/headrace/formula.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/require_text.h"
#include "harness/base/config/document.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/output.h"
#include "harness/base/system/installation.h"
#include "harness/job/job_sweep.h"
#include "harness/job/need_changes.h"
#include "harness/job/need_output.h"

namespace headrace::cli {
namespace {

using namespace job;

struct RequireArguments {
  std::string job;
  std::string format = "text";
  std::vector<std::string> overrides, sweep, needs;
  std::string plot;
  FormulaArguments formulas;
  bool explain = false, compare = false, keys = false;
};

/// Prints the output in the format that was asked for.
void show(const std::string& format, auto text, auto json, auto csv) {
  if (format == "text") return print(text());
  print_document(format == "json" ? json() : csv());
}

void plot(const Sweep& sweep, const std::string& file) {
  const Drawn drawn = draw_text(sweep_json(sweep), file.ends_with(".svg") ? Form::figure : Form::page);
  if (drawn.page.empty()) throw RunError(fmt::format("--plot: {}: not drawn: {}", file, drawn.reason));
  files::write_output(file, drawn.page);
  print_stderr_line(Text::format("wrote {}", file));
}

void show_sweep(const RequireArguments& arguments, const std::string& path, const Terminal& terminal) {
  Diagnostics problems;
  config::Value root = config::read_yaml(path, problems);
  problems.throw_if_any();
  for (const std::string& assignment : arguments.overrides) config::apply_override(root, assignment, problems);
  problems.throw_if_any();
  const Sweep sweep = sweep_job(root, arguments.sweep, arguments.needs);
  if (!arguments.plot.empty()) plot(sweep, arguments.plot);
  show(
      arguments.format, [&] { return sweep_text(sweep, terminal); }, [&] { return sweep_json(sweep); },
      [&] { return sweep_csv(sweep); });
}

void show_changes(const RequireArguments& arguments, const std::string& path, const Terminal& terminal) {
  if (arguments.overrides.empty()) throw UsageError("--compare: give what to change with --set KEY=VALUE");
  const Job before = load_job(path), after = load_job(path, arguments.overrides);
  show(
      arguments.format, [&] { return changes_text(before, after, arguments.overrides, terminal); },
      [&] { return changes_json(before, after, arguments.overrides); }, [&] { return changes_csv(before, after); });
}

void show_needs(const RequireArguments& arguments, const std::string& path, bool explain, const Terminal& terminal) {
  const Job job = load_job(path, arguments.overrides);
  const std::vector<Need> needs = derive_needs(job);
  show(
      arguments.format,
      [&] {
        const Text answer = answer_text(needs_answer(job, needs, arguments.job), terminal);
        return explain ? answer + needs_text(job, needs, terminal) + "\n" + locked_text(job, terminal)
                       : answer + needs_table(job, needs, terminal);
      },
      [&] { return needs_json(job, needs); }, [&] { return needs_csv(needs); });
}

int require(const RequireArguments& arguments, const Shared& shared) {
  const Terminal terminal(stdout, shared);
  if (!arguments.formulas.words.empty()) return formula(arguments.formulas, arguments.format, shared);
  if (arguments.format == "markdown") throw UsageError("--format: markdown is for --formula alone");
  if (arguments.keys) {
    print(job_keys_text(terminal));
    return 0;
  }
  if (arguments.job.empty()) throw UsageError("require: JOB is missing: a job description, as in configs/jobs/*.yaml");
  if (!arguments.plot.empty() && arguments.sweep.empty())
    throw UsageError("--plot: give what to draw with --sweep KEY=RANGE");
  if (!arguments.plot.empty() && !arguments.plot.ends_with(".svg") && !arguments.plot.ends_with(".html"))
    throw UsageError(fmt::format("--plot: {}: the name must end in .svg or .html", arguments.plot));
  if (arguments.compare && !arguments.sweep.empty()) throw UsageError("--compare and --sweep do not go together");
  const std::string path = system::find_shipped(arguments.job);
  if (!arguments.sweep.empty()) {
    show_sweep(arguments, path, terminal);
  } else if (arguments.compare) {
    show_changes(arguments, path, terminal);
  } else {
    show_needs(arguments, path, arguments.explain || shared.verbosity > 0, terminal);
  }
  return 0;
}

void add_require(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("require", "List the requirements of a job; --explain shows each equation with its numbers");
  auto a = std::make_shared<RequireArguments>();
  verb.option("JOB", a->job, "Job description (configs/jobs/*.yaml)");
  verb.format(a->format, {"text", "json", "csv", "markdown"}, "text, json or csv; of formulas text, json or markdown");
  verb.option("--set KEY=VALUE", a->overrides, "Override KEY=VALUE, as in step.time=100ms (repeatable)")
      .one_value_each();
  verb.flag("--keys", a->keys, "List the keys of a job file, and nothing else");
  verb.flag("--explain", a->explain, "Each need with its id, equation and numbers, and the keys that would add needs");
  verb.flag("--compare", a->compare, "Needs before and after the overrides, side by side");
  verb.option("--sweep KEY=RANGE", a->sweep,
              "Needs over KEY=FIRST..LAST*FACTOR, FIRST..LAST+STEP or A,B,C (repeatable: crossed)");
  verb.option("--need GLOB", a->needs,
              "Sweep: only needs that match, as in 'ingest.*' or 'ingest.read_bandwidth@node'");
  verb.option("--plot FILE", a->plot, "Sweep: draw it, too (FILE.svg or FILE.html)");
  verb.example("headrace require configs/jobs/resnet50-imagenet.yaml --set step.time=100ms --compare",
               "What a faster step would need");
  add_formula_options(verb, a->formulas);
  verb.does([&shared, a] { return require(*a, shared); });
}

const RegisterVerb registered_require{10, add_require};

}  // namespace
}  // namespace headrace::cli
