// The registry of formulas, their checked evaluation, and an equation with its numbers put in.
#include "harness/job/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// Our own bug: a formula was declared or called wrongly.
[[noreturn]] void abort_with(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", __FILE__, what.c_str());
  std::abort();
}

/// "A3" -> ('A', 3): the order of the reference.
std::pair<char, int> order_of(std::string_view id) { return {id[0], std::atoi(std::string(id.substr(1)).c_str())}; }

/// Registration happens before main in no given order, so the first registration makes the list, which is kept in
/// order.
std::vector<Formula>& registry() {
  static std::vector<Formula> formulas;
  return formulas;
}

Dimension dimension_of_name(std::string_view name) {
  struct Ending {
    std::string_view text;
    Dimension dimension;
  };
  static constexpr Ending kEndings[] = {
      {"_bytes_per_s", Dimension::bytes_per_second},
      {"_flop_per_s", Dimension::flop_per_second},
      {"_transfers_per_s", Dimension::transfers_per_second},
      {"_bits_per_s", Dimension::bits_per_second},
      {"_per_s", Dimension::per_second},
      {"_usd_per_h", Dimension::usd_per_hour},
      {"_usd_per_1000_requests", Dimension::usd},
      {"_usd_per_gb_month", Dimension::usd},
      {"bytes_per_param", Dimension::ratio},
      {"_bytes", Dimension::bytes},
      {"_count", Dimension::count},
      {"_ratio", Dimension::ratio},
      {"_gb", Dimension::gigabytes},
      {"_h", Dimension::hours},
      {"_s", Dimension::seconds},
  };
  for (const Ending& ending : kEndings)
    if (name.ends_with(ending.text)) return ending.dimension;
  for (const std::string_view yes_or_no : {"asynchronous", "causal"})
    if (name == yes_or_no) return Dimension::boolean;
  for (const std::string_view unitless :
       {"measured", "required", "mean", "standard_deviation", "lower_bound", "upper_bound"})
    if (name == unitless) return Dimension::any;
  for (const std::string_view word : {"collective", "protocol", "gpu_generation", "algorithm", "estimate"})
    if (name == word) return Dimension::text;
  abort_with(fmt::format("input {} names no unit", name));
}

std::string shown(const Input& input, const Argument& argument) {
  if (!input.choices.empty()) return input.choices[static_cast<std::size_t>(argument.number)];
  if (!input.list) return compact_quantity(argument.number, input.dimension);
  std::string text;
  for (const double number : argument.list)
    text += (text.empty() ? "[" : ", ") + compact_quantity(number, input.dimension);
  return text.empty() ? "[]" : text + "]";
}

void check(const Formula& formula, const Input& input, double value) {
  if (input.range.allows(value)) return;
  throw DomainError(fmt::format(
      "{}: {} = {}: must be {}", formula.name, input.name,
      input.choices.empty() ? compact_quantity(value, input.dimension) : fmt::format("{}", value), input.allowed()));
}

}  // namespace

Input::Input(std::string_view name, std::string_view symbol)
    : name(name), symbol(symbol), dimension(dimension_of_name(name)) {
  if (dimension == Dimension::boolean) range.max = 1;
}
Input Input::at_least(double bound) const {
  Input input = *this;
  input.range.min = bound;
  return input;
}
Input Input::above(double bound) const {
  Input input = at_least(bound);
  input.range.min_excluded = true;
  return input;
}
Input Input::at_most(double bound) const {
  Input input = *this;
  input.range.max = bound;
  return input;
}
Input Input::below(double bound) const {
  Input input = at_most(bound);
  input.range.max_excluded = true;
  return input;
}
Input Input::otherwise(double value) const {
  Input input = *this;
  input.fallback = value;
  return input;
}
Input Input::whole() const {
  Input input = at_least(1);
  input.range.integer = true;
  return input;
}
Input Input::one_of(std::vector<std::string> words) const {
  Input input = at_most(static_cast<double>(words.size()) - 1);
  input.range.integer = true;
  input.choices = std::move(words);
  return input;
}
Input Input::each() const {
  Input input = *this;
  input.list = true;
  return input;
}

std::string Input::allowed() const {
  if (!choices.empty()) return fmt::format("{}", fmt::join(choices, " | "));
  return dimension == Dimension::boolean ? "true | false" : range.text(dimension);
}

std::string Input::unit() const {
  if (!choices.empty()) return "word";
  return std::string(unit_name(dimension)) + (list ? " list" : "");
}

std::string Input::shown_default() const {
  if (!fallback) return "";
  return choices.empty() ? compact_quantity(*fallback, dimension) : choices[static_cast<std::size_t>(*fallback)];
}

const Input* Formula::find_input(std::string_view wanted) const {
  for (const Input& input : inputs)
    if (input.name == wanted) return &input;
  return nullptr;
}

void add_formula(Formula formula, std::size_t arity) {
  if (formula.inputs.size() != arity)
    abort_with(fmt::format("{}: {} inputs declared, the function takes {}", formula.id, formula.inputs.size(), arity));
  if (find_formula(formula.id) || find_formula(formula.name))
    abort_with(fmt::format("{} {}: registered twice", formula.id, formula.name));
  auto& all = registry();
  const auto after = std::find_if(all.begin(), all.end(),
                                  [&](const Formula& other) { return order_of(formula.id) < order_of(other.id); });
  all.insert(after, std::move(formula));
}

std::span<const Formula> all_formulas() { return registry(); }

const Formula* find_formula(std::string_view name_or_id) {
  for (const Formula& formula : registry())
    if (formula.name == name_or_id || formula.id == name_or_id) return &formula;
  return nullptr;
}

Result evaluate(const Formula& formula, std::span<const Argument> arguments) {
  if (arguments.size() != formula.inputs.size()) abort_with(fmt::format("{}: wrong number of arguments", formula.name));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Input& input = formula.inputs[i];
    if (!input.list) check(formula, input, arguments[i].number);
    for (const double number : arguments[i].list) check(formula, input, number);
  }
  Result result = formula.function(arguments);
  if (!std::isfinite(result.number))
    throw DomainError(fmt::format("{}: the result is too large to be held", formula.name));
  return result;
}

Applied apply(std::string_view name_or_id, std::span<const NamedValue> values) {
  Applied applied;
  applied.formula = find_formula(name_or_id);
  if (!applied.formula) abort_with(fmt::format("no formula {}", name_or_id));
  std::size_t used = 0;
  for (const Input& input : applied.formula->inputs) {
    const auto given =
        std::find_if(values.begin(), values.end(), [&](const NamedValue& v) { return v.first == input.name; });
    if (given == values.end() && !input.fallback)
      abort_with(fmt::format("{}: {} is missing", applied.formula->name, input.name));
    used += given != values.end();
    applied.arguments.push_back({given == values.end() ? *input.fallback : given->second, {}});
  }
  if (used != values.size()) abort_with(fmt::format("{}: an unknown or repeated input", applied.formula->name));
  applied.result = evaluate(*applied.formula, applied.arguments);
  return applied;
}

Applied apply(std::string_view name_or_id, std::initializer_list<NamedValue> values) {
  return apply(name_or_id, std::span<const NamedValue>(values.begin(), values.size()));
}

namespace {

/// The equation with the text of `put` for each symbol of an input, by the input's index.
template <typename Put>
std::string replaced(const Formula& formula, const Put& put) {
  const auto word_char = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  const std::string_view equation = formula.equation;
  std::string text;
  for (std::size_t at = 0; at < equation.size();) {
    std::size_t end = at;
    while (end < equation.size() && word_char(equation[end])) ++end;
    if (end == at) {
      text += equation[at++];
      continue;
    }
    const std::string_view word = equation.substr(at, end - at);
    std::size_t i = 0;
    while (i < formula.inputs.size() && formula.inputs[i].symbol != word) ++i;
    text += i < formula.inputs.size() ? put(i) : std::string(word);
    at = end;
  }
  return text;
}

}  // namespace

std::string plain_name(const Input& input) {
  std::string name(input.name);
  for (const std::string_view ending : {"_rate_per_s", "_per_s", "_ratio", "_count", "_s"})
    if (name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
      if (ending == "_rate_per_s") name += " rate";
      if (ending == "_per_s") name += "/s";
      break;
    }
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string named(const Formula& formula) {
  return replaced(formula, [&](std::size_t i) { return plain_name(formula.inputs[i]); });
}

std::string substituted(const Formula& formula, std::span<const Argument> arguments) {
  return replaced(formula, [&](std::size_t i) { return shown(formula.inputs[i], arguments[i]); });
}

Dimension dimension_of_unit(std::string_view unit) {
  for (int i = 0; i < static_cast<int>(Dimension::any); ++i)
    if (unit_name(static_cast<Dimension>(i)) == unit) return static_cast<Dimension>(i);
  return Dimension::any;
}

}  // namespace headrace::job
