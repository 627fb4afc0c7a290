// headrace require: a described job's needs for storage, host, GPU links and network; what if; and the formulas.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <span>

#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/require_text.h"
#include "benches/headrace/table.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/base/config/document.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/output.h"
#include "harness/base/system/installation.h"
#include "harness/job/formula.h"
#include "harness/job/formula_output.h"
#include "harness/job/job_sweep.h"
#include "harness/job/need_output.h"
#include "harness/job/sources.h"

namespace headrace::cli {
namespace {

// headrace require --formula: the formulas, one of them explained, or one or many of them evaluated.

struct FormulaArguments {
  std::vector<std::string> words;  // a name and its inputs; of --formula alone one that is empty; none: no --formula
  std::string lines;
};

// Formulas as people read them in a terminal.

using namespace job;

/// `text` after `lead`, its further lines below its first.
Text after(const Text& lead, const Text& text, const Terminal& terminal) {
  const std::size_t indent = columns(lead), width = static_cast<std::size_t>(std::max(terminal.width(), 40));
  return lead + wrap(text, width - indent, indent) + "\n";
}

/// All formulas, a line each: id, name, title.
Text formulas_text(const Terminal& terminal) {
  Text out;
  char section = 0;
  for (const Formula& formula : all_formulas()) {
    if (formula.id[0] != section) {
      section = formula.id[0];
      out += Text::format("{}{}. {}\n", out.empty() ? "" : "\n", section, section_title(section));
    }
    const Text lead = Text::format("  {:<4} {:<36} ", formula.id, formula.name);
    constexpr int kBeside = 90;
    out += terminal.width() >= kBeside
               ? lead + formula.title + "\n"
               : Text::format("  {:<4} {}\n", formula.id, formula.name) + after("       ", formula.title, terminal);
  }
  return out + "\n" +
         after("", "headrace require --formula NAME explains one; --formula NAME INPUT=VALUE... evaluates it.",
               terminal);
}

/// Equation, inputs with units, ranges and defaults, validity, source and the worked example.
Text formula_text(const Formula& formula, const Terminal& terminal) {
  Text out =
      after("", Text::format("{} {}: {} [{}]", formula.id, formula.name, formula.title, formula.unit), terminal) + "\n";
  out += after("  equation  ", formula.equation, terminal);
  out += after("  valid     ", formula.validity, terminal);
  out += after("  source    ", formula.source, terminal);
  for (const Source& source : sources_named_in(formula.source))
    out += after(Text::format("            {}: ", source.word), source.text, terminal);
  out += "\n";
  Table inputs({{"input"}, {"name"}, {"unit"}, {"allowed"}});
  for (const Input& input : formula.inputs) {
    const std::string fallback = input.shown_default();
    inputs.row({input.symbol, input.name, input.unit(),
                input.allowed() + (fallback.empty() ? "" : fmt::format(" (default {})", fallback))});
  }
  out += inputs.text(terminal);
  const std::vector<Argument> arguments = example_arguments(formula);
  out += "\nexample\n" + after(Text::format("  headrace require --formula {} ", formula.id), formula.example, terminal);
  out += after("  = ", substituted(formula, arguments), terminal);
  return out + Text::format("  = {}\n", shown_result(formula, evaluate(formula, arguments)));
}

/// The value with the numbers put in. Throws DomainError.
Text result_text(const Formula& formula, std::span<const Argument> arguments, const Terminal& terminal) {
  const Result result = evaluate(formula, arguments);
  return Text::format("{} = {}\n", formula.name, shown_result(formula, result)) +
         after("  = ", substituted(formula, arguments), terminal) + after("  = ", formula.equation, terminal);
}

const Formula& find(const std::string& name) {
  if (const Formula* found = find_formula(name)) return *found;
  std::vector<std::string> names;
  for (const Formula& known : all_formulas()) names.emplace_back(known.name);
  throw UsageError(fmt::format("--formula: unknown formula '{}'{} (headrace require --formula lists all)", name,
                               did_you_mean(name, names)));
}

/// Exit code 2 where a line has no value; every line is answered.
int evaluate_lines(const std::string& file) {
  std::ifstream opened;
  if (file != "-") opened.open(file);
  std::istream& lines = file == "-" ? std::cin : opened;
  if (!lines) throw UsageError(fmt::format("--lines: cannot read {}", file));
  bool good = true;
  for (std::string line; std::getline(lines, line);) {
    const auto [result, has_value] = evaluated_line(line);
    print_document(result);
    good = good && has_value;
  }
  return good ? 0 : 2;
}

int print_formula(const std::string& name, const std::vector<std::string>& assignments, const std::string& format,
                  const Shared& shared) {
  const Terminal terminal(stdout, shared);
  const bool json = format == "json";
  if (format == "markdown") {
    print_document(formulas_markdown());
  } else if (name.empty()) {
    json ? print_document(formulas_json()) : print(formulas_text(terminal));
  } else if (assignments.empty()) {
    const Formula& found = find(name);
    json ? print_document(formula_json(found)) : print(formula_text(found, terminal));
  } else {
    const Formula& found = find(name);
    Diagnostics problems;
    const std::vector<Argument> arguments = parse_arguments(found, assignments, problems);
    problems.throw_if_any();
    try {
      json ? print_document(result_json(found, arguments)) : print(result_text(found, arguments, terminal));
    } catch (const DomainError& e) {
      throw UsageError(e.what());
    }
  }
  return 0;
}

/// Adds --formula and --lines; it goes with --format, of the options added before.
void add_formula_options(Verb& verb, FormulaArguments& arguments) {
  verb.group("Formulas");
  verb.option("--formula [NAME [INPUT=VALUE]]", arguments.words,
              "List the formulas, explain one by its name or id (A3), or evaluate it: values with units, as in "
              "sample_bytes=130kB, or bare SI numbers")
      .any_values();
  verb.group("Formulas", false, "--formula");
  verb.option(
      "--lines FILE", arguments.lines,
      "Evaluate every line of FILE (- is standard input), {\"formula\": NAME, \"inputs\": {INPUT: VALUE}}, as JSON");
  verb.alone("--formula", {"--format", "--json"});
  verb.example("headrace require --formula read_bandwidth_required sample_rate_per_s=10240/s sample_bytes=130kB",
               "One formula, with its numbers put in");
}

int formula(const FormulaArguments& arguments, const std::string& format, const Shared& shared) {
  std::vector<std::string> words = arguments.words;
  std::erase(words, "");
  if (format == "csv") throw UsageError("--formula: text, json or markdown, not csv");
  if (!arguments.lines.empty()) {
    if (!words.empty()) throw UsageError("--formula: --lines FILE names the formulas itself");
    return evaluate_lines(arguments.lines);
  }
  if (words.empty()) return print_formula("", {}, format, shared);
  return print_formula(words.front(), {words.begin() + 1, words.end()}, format, shared);
}

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
  if (arguments.format == "markdown") throw UsageError("--format: markdown is only for --formula");
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
  if (!arguments.plot.empty())
    files::check_output(arguments.plot, path, arguments.plot.ends_with(".svg") ? "needs with margin" : kPageSign);
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
