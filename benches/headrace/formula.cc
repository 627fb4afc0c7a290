#include "benches/headrace/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "benches/headrace/console.h"
#include "benches/headrace/formula_text.h"
#include "harness/base/diagnostics.h"
#include "harness/job/formula_output.h"

namespace headrace::cli {
namespace {

using namespace job;

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

}  // namespace

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

}  // namespace headrace::cli
