// Arguments of a formula as people type them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/job/formula_output.h"

namespace headrace::job {
namespace {

std::vector<std::string> names_of(const Formula& formula) {
  std::vector<std::string> names;
  for (const Input& input : formula.inputs) names.emplace_back(input.name);
  return names;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

class Reader {
 public:
  Reader(const Formula& formula, Diagnostics& problems) : formula_(formula), problems_(problems) {}

  std::optional<Argument> read(const Input& input, std::string_view text) {
    if (!input.choices.empty()) return choice(input, text);
    if (!input.list) {
      const auto value = number(input, text);
      return value ? std::optional<Argument>({*value, {}}) : std::nullopt;
    }
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    Argument argument;
    for (const std::string_view part : split(text, ',')) {
      const auto value = number(input, part);
      if (!value) return std::nullopt;
      argument.list.push_back(*value);
    }
    return argument;
  }

  void problem(const std::string& text) { problems_.error({}, fmt::format("{}: {}", formula_.name, text)); }

 private:
  std::optional<double> number(const Input& input, std::string_view text) {
    Parsed parsed = parse_quantity(text, input.dimension);
    if (!parsed) {  // a bare number is in the base unit of the input's name
      const Parsed bare = input.dimension == Dimension::boolean ? parsed : parse_quantity(text, Dimension::ratio);
      if (bare) parsed = bare;
    }
    if (!parsed) {
      problem(fmt::format("{} = {}: {}", input.name, text, parsed.error));
      return std::nullopt;
    }
    if (input.range.allows(parsed.value)) return parsed.value;
    problem(fmt::format("{} = {}: must be {}", input.name, text, input.allowed()));
    return std::nullopt;
  }

  std::optional<Argument> choice(const Input& input, std::string_view text) {
    for (std::size_t i = 0; i < input.choices.size(); ++i)
      if (input.choices[i] == text) return Argument{static_cast<double>(i), {}};
    problem(fmt::format("{} = {}: must be {}{}", input.name, text, input.allowed(), did_you_mean(text, input.choices)));
    return std::nullopt;
  }

  const Formula& formula_;
  Diagnostics& problems_;
};

}  // namespace

std::vector<Argument> parse_arguments(const Formula& formula, std::span<const std::string> assignments,
                                      Diagnostics& problems) {
  Reader reader(formula, problems);
  std::vector<std::optional<Argument>> read(formula.inputs.size());
  std::vector<bool> named(formula.inputs.size());
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    const Input* input = formula.find_input(name);
    if (equals == std::string::npos) {
      reader.problem(fmt::format("'{}': write INPUT=VALUE", assignment));
    } else if (!input) {
      const auto known = names_of(formula);
      reader.problem(fmt::format("unknown input '{}'{} (inputs: {})", name, did_you_mean(name, known), join(known)));
    } else {
      const auto i = static_cast<std::size_t>(input - formula.inputs.data());
      if (named[i]) reader.problem(fmt::format("{} is given twice", name));
      named[i] = true;
      read[i] = reader.read(*input, std::string_view(assignment).substr(equals + 1));
    }
  }
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const Input& input = formula.inputs[i];
    if (!named[i] && !input.fallback)
      reader.problem(fmt::format("{} is missing ({}, {})", input.name, unit_name(input.dimension), input.allowed()));
    arguments.push_back(read[i].value_or(Argument{input.fallback.value_or(0), {}}));
  }
  return arguments;
}

std::vector<Argument> example_arguments(const Formula& formula) {
  std::vector<std::string> assignments;
  for (const std::string_view part : split(formula.example, ' '))
    if (!part.empty()) assignments.emplace_back(part);
  Diagnostics problems;
  std::vector<Argument> arguments = parse_arguments(formula, assignments, problems);
  problems.throw_if_any();
  return arguments;
}

}  // namespace headrace::job
