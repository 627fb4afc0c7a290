// headrace formula: the formulas, one of them explained, or one or many of them evaluated.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "benches/headrace/console.h"
#include "benches/headrace/formula_text.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/job/formula_output.h"

namespace headrace::cli {
namespace {

using namespace job;

const Formula& find(const std::string& name) {
  if (const Formula* found = find_formula(name)) return *found;
  std::vector<std::string> names;
  for (const Formula& known : all_formulas()) names.emplace_back(known.name);
  throw UsageError(
      fmt::format("formula: unknown formula '{}'{} (headrace formula lists all)", name, did_you_mean(name, names)));
}

/// Exit code 2 where a line has no value; every line is answered.
int evaluate_lines(const std::string& file) {
  std::ifstream opened;
  if (file != "-") opened.open(file);
  std::istream& lines = file == "-" ? std::cin : opened;
  if (!lines) throw UsageError(fmt::format("formula: cannot read {}", file));
  bool good = true;
  for (std::string line; std::getline(lines, line);) {
    const auto [result, has_value] = evaluated_line(line);
    print_document(result);
    good = good && has_value;
  }
  return good ? 0 : 2;
}

int formula(const std::string& name, const std::vector<std::string>& assignments, const std::string& format,
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

void add_formula_verb(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("formula", "List the formulas, explain one (NAME or id), or evaluate it");
  auto name = std::make_shared<std::string>();
  auto assignments = std::make_shared<std::vector<std::string>>();
  auto format = std::make_shared<std::string>("text");
  auto lines = std::make_shared<std::string>();
  verb.option("NAME", *name, "Name or id, as in read_bandwidth_required or A3");
  verb.option("INPUTS", *assignments, "INPUT=VALUE with units, as in sample_bytes=130kB, or bare SI numbers");
  verb.option(
      "--lines FILE", *lines,
      "Evaluate every line of FILE (- is standard input), {\"formula\": NAME, \"inputs\": {INPUT: VALUE}}, as JSON");
  verb.format(*format, {"text", "json", "markdown"}, "text, json, or markdown (the page of all formulas)");
  verb.example("headrace formula read_bandwidth_required sample_rate_per_s=10240/s sample_bytes=130kB",
               "One formula, with its numbers put in");
  verb.does([&shared, name, assignments, format, lines] {
    if (!lines->empty() && !name->empty()) throw UsageError("formula: --lines FILE names the formulas itself");
    return lines->empty() ? formula(*name, *assignments, *format, shared) : evaluate_lines(*lines);
  });
}

const RegisterVerb registered_formula{20, add_formula_verb};

}  // namespace
}  // namespace headrace::cli
