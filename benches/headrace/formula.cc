// headrace formula: the formulas, one of them explained, or one of them evaluated.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "benches/headrace/console.h"
#include "benches/headrace/formula_text.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/requirements/formula_output.h"

namespace headrace::cli {
namespace {

using namespace requirements;

const Formula& find(const std::string& name) {
  if (const Formula* found = find_formula(name)) return *found;
  std::vector<std::string> names;
  for (const Formula& known : all_formulas()) names.emplace_back(known.name);
  throw UsageError(
      fmt::format("formula: unknown formula '{}'{} (headrace formula lists all)", name, did_you_mean(name, names)));
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
  verb.option("NAME", *name, "Name or id, as in read_bandwidth_required or A3");
  verb.option("INPUTS", *assignments, "INPUT=VALUE with units, as in sample_bytes=130kB, or bare SI numbers");
  verb.format(*format, {"text", "json", "markdown"}, "text, json, or markdown (the page of all formulas)");
  verb.example("headrace formula read_bandwidth_required sample_rate_per_s=10240/s sample_bytes=130kB",
               "One formula, with its numbers put in");
  verb.does([&shared, name, assignments, format] { return formula(*name, *assignments, *format, shared); });
}

const RegisterVerb registered{20, add_formula_verb};

}  // namespace
}  // namespace headrace::cli
