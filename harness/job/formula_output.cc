// Formulas as JSON, and the page of all.
#include "harness/job/formula_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace headrace::job {
namespace {

using Json = nlohmann::ordered_json;

Json argument_json(const Input& input, const Argument& argument) {
  if (input.list) return argument.list;
  if (!input.choices.empty()) return input.choices[static_cast<std::size_t>(argument.number)];
  if (input.dimension == Dimension::boolean) return argument.number != 0;
  return argument.number;
}

/// As it is typed on a command line.
std::string typed(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(typed(item));
  return join(items, ",");
}

std::string value_json(const Formula& formula, const Result& result) {
  return Json{{"value", result.text.empty() ? Json(result.number) : Json(result.text)}, {"unit", formula.unit}}.dump();
}

}  // namespace

std::string_view section_title(char letter) {
  switch (letter) {
    case 'A':
      return "Data ingest";
    case 'B':
      return "Host pipeline";
    case 'C':
      return "Page cache and node-local cache";
    case 'D':
      return "Object store";
    case 'E':
      return "Checkpoint, restore, goodput";
    case 'F':
      return "Network";
    case 'G':
      return "Headroom and verdict";
    default:
      return "";
  }
}

std::string shown_result(const Formula& formula, const Result& result) {
  if (!result.text.empty()) return result.text;
  return compact_quantity(result.number, dimension_of_unit(formula.unit), 10);
}

std::string formulas_json() {
  Json root{{"schema", 1}, {"formulas", Json::array()}};
  for (const Formula& formula : all_formulas())
    root["formulas"].push_back({{"id", formula.id},
                                {"formula", formula.name},
                                {"title", formula.title},
                                {"equation", formula.equation},
                                {"unit", formula.unit}});
  return root.dump(1) + '\n';
}

std::string formula_json(const Formula& formula) {
  Json inputs = Json::array();
  for (const Input& input : formula.inputs) {
    Json entry{{"name", input.name}, {"symbol", input.symbol}, {"unit", input.unit()}, {"allowed", input.allowed()}};
    if (input.fallback) entry["default"] = *input.fallback;
    inputs.push_back(std::move(entry));
  }
  const Json root{{"id", formula.id},          {"formula", formula.name},
                  {"title", formula.title},    {"equation", formula.equation},
                  {"unit", formula.unit},      {"validity", formula.validity},
                  {"source", formula.source},  {"inputs", std::move(inputs)},
                  {"example", formula.example}};
  return root.dump(1) + '\n';
}

std::string result_json(const Formula& formula, std::span<const Argument> arguments) {
  const Result result = evaluate(formula, arguments);
  Json inputs = Json::object();
  for (std::size_t i = 0; i < arguments.size(); ++i)
    inputs[std::string(formula.inputs[i].name)] = argument_json(formula.inputs[i], arguments[i]);
  const Json root{{"id", formula.id},
                  {"formula", formula.name},
                  {"value", result.text.empty() ? Json(result.number) : Json(result.text)},
                  {"unit", formula.unit},
                  {"equation", formula.equation},
                  {"substituted", substituted(formula, arguments)},
                  {"inputs", std::move(inputs)}};
  return root.dump() + '\n';
}

std::pair<std::string, bool> evaluated_line(std::string_view line) {
  const auto failed = [](const std::string& why) { return std::pair(Json{{"error", why}}.dump() + '\n', false); };
  const Json asked = Json::parse(line, nullptr, false);
  if (!asked.is_object() || !asked.contains("formula") || !asked["formula"].is_string() || !asked.contains("inputs") ||
      !asked["inputs"].is_object())
    return failed(R"(write {"formula": NAME, "inputs": {INPUT: VALUE, ...}})");
  const Formula* formula = find_formula(asked["formula"].get<std::string>());
  if (formula == nullptr) return failed(fmt::format("unknown formula '{}'", asked["formula"].get<std::string>()));
  try {
    std::vector<std::string> assignments;
    for (const auto& [name, value] : asked["inputs"].items()) assignments.push_back(name + "=" + typed(value));
    Diagnostics problems;
    const std::vector<Argument> arguments = parse_arguments(*formula, assignments, problems);
    problems.throw_if_any();
    return {value_json(*formula, evaluate(*formula, arguments)) + '\n', true};
  } catch (const std::runtime_error& e) {  // UsageError, DomainError
    return failed(e.what());
  }
}

std::string formulas_markdown() {
  std::string out =
      "# Formulas\n\n"
      "Every requirement that headrace prints comes from one of these formulas. Values are in SI "
      "units (B, s, B/s,\n"
      "1/s); inputs carry their unit in the name. `headrace require --formula NAME INPUT=VALUE...` evaluates "
      "one, with units\n"
      "(`sample_bytes=130kB`). An input outside its range is refused; no formula gives an "
      "infinity.\n"
      "This page is made by `headrace require --formula --format markdown`.\n";
  char section = 0;
  for (const Formula& formula : all_formulas()) {
    if (formula.id[0] != section) {
      section = formula.id[0];
      out += fmt::format("\n## {}. {}\n", section, section_title(section));
    }
    out += fmt::format("\n### {} {}\n\n`{}` [{}]\n\n    {}\n\n{} *Source: {}.*\n\n", formula.id, formula.title,
                       formula.name, formula.unit, formula.equation, formula.validity, formula.source);
    out += "| symbol | input | unit | allowed | default |\n|---|---|---|---|---|\n";
    for (const Input& input : formula.inputs) {
      std::string allowed = input.allowed();
      for (std::size_t at = 0; (at = allowed.find(" | ", at)) != std::string::npos;) allowed.replace(at, 3, ", ");
      out += fmt::format("| {} | `{}` | {} | {} | {} |\n", input.symbol, input.name, input.unit(), allowed,
                         input.shown_default());
    }
    const std::vector<Argument> arguments = example_arguments(formula);
    out += fmt::format("\nExample: `{}` gives {} = {}.\n", formula.example, substituted(formula, arguments),
                       shown_result(formula, evaluate(formula, arguments)));
  }
  return out;
}

}  // namespace headrace::job
