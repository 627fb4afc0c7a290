// headrace formula: the formulas, one of them explained, or one of them evaluated.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "benches/headrace/console.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/requirements/formula_output.h"

namespace headrace::cli {
namespace {

using namespace requirements;

int formula(const std::string& name, const std::vector<std::string>& assignments, const std::string& format) {
  const bool json = format == "json";
  std::string text;
  if (format == "markdown") {
    text = formulas_markdown();
  } else if (name.empty()) {
    text = json ? formulas_json() : formulas_text();
  } else {
    const Formula* found = find_formula(name);
    if (!found) {
      std::vector<std::string> names;
      for (const Formula& known : all_formulas()) names.emplace_back(known.name);
      throw UsageError(
          fmt::format("formula: unknown formula '{}'{} (headrace formula lists all)", name, did_you_mean(name, names)));
    }
    if (assignments.empty()) {
      text = json ? formula_json(*found) : formula_text(*found);
    } else {
      Diagnostics problems;
      const std::vector<Argument> arguments = parse_arguments(*found, assignments, problems);
      problems.throw_if_any();
      try {
        text = json ? result_json(*found, arguments) : result_text(*found, arguments);
      } catch (const DomainError& e) {
        throw UsageError(e.what());
      }
    }
  }
  print_document(text);
  return 0;
}

void add_formula_verb(Verbs& verbs, Shared&) {
  Verb verb = verbs.add("formula", "List the formulas, explain one (NAME or id), or evaluate it");
  auto name = std::make_shared<std::string>();
  auto assignments = std::make_shared<std::vector<std::string>>();
  auto format = std::make_shared<std::string>("text");
  verb.option("NAME", *name, "Name or id, as in read_bandwidth_required or A3");
  verb.option("INPUTS", *assignments, "INPUT=VALUE with units, as in sample_bytes=130kB, or bare SI numbers");
  verb.format(*format, {"text", "json", "markdown"}, "text, json, or markdown (the page of all formulas)");
  verb.example("headrace formula read_bandwidth_required sample_rate_per_s=10240/s sample_bytes=130kB",
               "One formula, with its numbers put in");
  verb.does([name, assignments, format] { return formula(*name, *assignments, *format); });
}

const RegisterVerb registered{20, add_formula_verb};

}  // namespace
}  // namespace headrace::cli
