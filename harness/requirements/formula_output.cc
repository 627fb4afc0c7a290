// Formulas as text and JSON.
#include "harness/requirements/formula_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "harness/requirements/sources.h"
#include "harness/requirements/wrap.h"

namespace headrace::requirements {
namespace {

using Json = nlohmann::ordered_json;

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

/// Does the text name the publication? "NCCL-T" does not name "NCCL".
bool names(std::string_view text, std::string_view word) {
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-'; };
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; at += word.size()) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !inside(text[at - 1])) && (end == text.size() || !inside(text[end]))) return true;
  }
  return false;
}

/// "10240/s", "130 kB", "PASS": a result as people read it.
std::string shown(const Formula& formula, const Result& result) {
  if (!result.text.empty()) return result.text;
  return compact_quantity(result.number, dimension_of_unit(formula.unit), 10);
}

std::string unit_of(const Input& input) {
  if (!input.choices.empty()) return "word";
  return std::string(unit_name(input.dimension)) + (input.list ? " list" : "");
}

std::string fallback_of(const Input& input) {
  return input.fallback ? compact_quantity(*input.fallback, input.dimension) : "";
}

Json argument_json(const Input& input, const Argument& argument) {
  if (input.list) return argument.list;
  if (!input.choices.empty()) return input.choices[static_cast<std::size_t>(argument.number)];
  if (input.dimension == Dimension::boolean) return argument.number != 0;
  return argument.number;
}

}  // namespace

std::string formulas_text() {
  std::string out;
  char section = 0;
  for (const Formula& formula : all_formulas()) {
    if (formula.id[0] != section) {
      section = formula.id[0];
      out += fmt::format("{}{}. {}\n", out.empty() ? "" : "\n", section, section_title(section));
    }
    out += fmt::format("  {:<4} {:<36} {}\n", formula.id, formula.name, formula.title);
  }
  return out +
         "\nheadrace formula NAME explains one; headrace formula NAME INPUT=VALUE... evaluates "
         "it.\n";
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

std::string formula_text(const Formula& formula) {
  std::string out = fmt::format("{} {}: {} [{}]\n\n", formula.id, formula.name, formula.title, formula.unit);
  out += "  equation  " + wrapped(formula.equation, 12) + '\n';
  out += "  holds     " + wrapped(formula.validity, 12) + '\n';
  out += fmt::format("  source    {}\n", formula.source);
  for (const Source& source : sources())
    if (names(formula.source, source.word))
      out += fmt::format("            {}: {}\n", source.word, wrapped(source.text, source.word.size() + 14));
  out += "\ninputs\n";
  for (const Input& input : formula.inputs) {
    const std::string fallback = fallback_of(input);
    out += fmt::format("  {:<9} {:<28} {:<10} {}{}\n", input.symbol, input.name, unit_of(input), input.allowed(),
                       fallback.empty() ? "" : fmt::format(" (default {})", fallback));
  }
  const std::vector<Argument> arguments = example_arguments(formula);
  out += fmt::format("\nexample\n  headrace formula {} {}\n", formula.id,
                     wrapped(formula.example, formula.id.size() + 20));
  out += "  = " + wrapped(substituted(formula, arguments), 4) + '\n';
  return out + "  = " + shown(formula, evaluate(formula, arguments)) + '\n';
}

std::string formula_json(const Formula& formula) {
  Json inputs = Json::array();
  for (const Input& input : formula.inputs) {
    Json entry{{"name", input.name}, {"symbol", input.symbol}, {"unit", unit_of(input)}, {"allowed", input.allowed()}};
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

std::string result_text(const Formula& formula, std::span<const Argument> arguments) {
  const Result result = evaluate(formula, arguments);
  std::string out = fmt::format("{} = {}\n", formula.name, shown(formula, result));
  out += "  = " + wrapped(substituted(formula, arguments), 4) + '\n';
  return out + "  = " + wrapped(formula.equation, 4) + '\n';
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

std::string formulas_markdown() {
  std::string out =
      "# Formulas\n\n"
      "Every requirement that headrace prints comes from one of these formulas. Values are in SI "
      "units (B, s, B/s,\n"
      "1/s); inputs carry their unit in the name. `headrace formula NAME INPUT=VALUE...` evaluates "
      "one, with units\n"
      "(`sample_bytes=130kB`). An input outside its range is refused; no formula gives an "
      "infinity.\n"
      "This page is made by `headrace formula --format markdown`.\n";
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
      out += fmt::format("| {} | `{}` | {} | {} | {} |\n", input.symbol, input.name, unit_of(input), allowed,
                         fallback_of(input));
    }
    const std::vector<Argument> arguments = example_arguments(formula);
    out += fmt::format("\nExample: `{}` gives {} = {}.\n", formula.example, substituted(formula, arguments),
                       shown(formula, evaluate(formula, arguments)));
  }
  return out;
}

}  // namespace headrace::requirements
