#include "benches/headrace/verb_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>

#include "harness/base/data_path.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"

namespace headrace::cli {

namespace {

/// "-o,--out FILE" -> {"-o", "--out"} and "FILE"; "RUN" -> nothing and "RUN".
OptionDescription described(const std::string& names, const std::string& help, const std::string& fallback_value) {
  OptionDescription option;
  option.help = help;
  const std::size_t space = names.find(' ');
  const std::string before = names.substr(0, space);
  option.value = space == names.npos ? fallback_value : names.substr(space + 1);
  if (!before.starts_with("-")) {
    option.value = before;
    return option;
  }
  for (const std::string& name : CLI::detail::split(before, ',')) option.names.push_back(name);
  return option;
}

/// The names as CLI11 takes them.
std::string names_of(const OptionDescription& option) {
  return option.positional() ? option.value : join(option.names, ",");
}

bool is_one_of(const std::string& value, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), value) != names.end();
}

/// "[NAME]" may be left out; a command behind -- may have empty words.
bool may_be_empty(const OptionDescription& option, bool place) {
  return option.value.starts_with("[") || (option.positional() && !place);
}

/// A value is empty where a variable of the shell is not set. Paths become those of data_path().
CLI::Option* with_values_checked(CLI::Option* added, const OptionDescription& option) {
  const bool place = is_one_of(option.value, {"PATH", "DIR", "FILE", "JOB", "RUN", "OTHER"});
  if (may_be_empty(option, place)) return added;
  const std::string forms = is_one_of(option.value, {"HOST", "ADDRESS"})
                                ? fmt::format("; allowed: {0}, {0}:PORT, [IPV6]:PORT", option.value)
                                : "";
  return added->transform(CLI::Validator(
      [forms, place](std::string& given) {
        if (given.empty()) return "is empty; is a variable of the shell unset?" + forms;
        try {
          if (place) given = data_path(given);
        } catch (const std::exception& e) {
          return std::string(e.what());
        }
        return std::string();
      },
      ""));
}

}  // namespace

Option& Option::required() {
  described_->required = true;
  option_->required();
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  described_->words = words;
  const std::string allowed = join(words);
  option_->check(CLI::Validator(
      [words, allowed](const std::string& given) {
        if (std::find(words.begin(), words.end(), given) != words.end()) return std::string();
        return "'" + given + "' is not one of " + allowed + did_you_mean(given, words);
      },
      "{" + CLI::detail::join(words, ",") + "}"));
  return *this;
}

Option& Option::suggests(std::vector<std::string> words) {
  described_->words = std::move(words);
  return *this;
}

Option& Option::between(unsigned least, unsigned most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::shows_default() {
  option_->capture_default_str();
  described_->fallback = option_->get_default_str();
  return *this;
}

Option& Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::separated_by(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

Option& Option::at_most(int values) {
  option_->expected(1, values);
  return *this;
}

Option& Option::any_values() {
  option_->expected(0, CLI::detail::expected_max_vector_size);
  return *this;
}

Option& Option::or_environment(const std::string& variable) {
  option_->envname(variable);
  described_->environment = variable;
  return *this;
}

OptionDescription& Verb::add(const std::string& names, const std::string& help, const char* value) {
  OptionDescription& option = options_->emplace_back(described(names, help, value));
  option.group = group_.name;
  option.rare = group_.rare;
  return option;
}

Option Verb::grouped(CLI::Option* option, OptionDescription& described) {
  if (*group_.of != '\0') option->needs(app_->get_option(group_.of));
  return Option(option, &described);
}

void Verb::alone(const std::string& option, const std::vector<std::string>& others) {
  CLI::Option* const alone = app_->get_option(option);
  for (CLI::Option* one : app_->get_options()) {
    const bool with = std::ranges::any_of(others, [=](const std::string& name) { return one->check_name(name); });
    if (one != alone && !with && !one->get_needs().contains(alone)) alone->excludes(one);
  }
}

Option Verb::option(const std::string& names, std::string& into, const std::string& help) {
  OptionDescription& option = add(names, help, "TEXT");
  return grouped(with_values_checked(app_->add_option(names_of(option), into, help), option), option);
}

Option Verb::option(const std::string& names, std::vector<std::string>& into, const std::string& help) {
  OptionDescription& option = add(names, help, "TEXT");
  option.repeats = true;
  return grouped(with_values_checked(app_->add_option(names_of(option), into, help), option), option);
}

Option Verb::option(const std::string& names, unsigned& into, const std::string& help) {
  OptionDescription& option = add(names, help, "N");
  return grouped(with_values_checked(app_->add_option(names_of(option), into, help), option), option);
}

Option Verb::option(const std::string& names, std::size_t& into, const std::string& help) {
  OptionDescription& option = add(names, help, "N");
  return grouped(with_values_checked(app_->add_option(names_of(option), into, help), option), option);
}

Option Verb::option(const std::string& names, std::optional<std::uint64_t>& into, const std::string& help) {
  OptionDescription& option = add(names, help, "N");
  return grouped(with_values_checked(app_->add_option(names_of(option), into, help), option), option);
}

void Verb::format(std::string& into, const std::vector<std::string>& words, const std::string& help) {
  group("Output");
  option("--format WORD", into, help).one_of(words).shows_default();
  flag(
      "--json", [&into] { into = "json"; }, "The same as --format json");
}

Option Verb::flag(const std::string& names, bool& into, const std::string& help) {
  OptionDescription& option = add(names, help, "");
  return grouped(app_->add_flag(names_of(option), into, help), option);
}

Option Verb::flag(const std::string& names, std::string& into, const std::string& help) {
  OptionDescription& option = add(names, help, "");
  return grouped(app_->add_flag(names_of(option), into, help), option);
}

void Verb::flag(const std::string& names, std::function<void()> given, const std::string& help) {
  OptionDescription& option = add(names, help, "");
  grouped(app_->add_flag_callback(names_of(option), std::move(given), help), option);
}

Verb& Verb::example(const std::string& command, const std::string& what) {
  examples_->push_back({command, what});
  return *this;
}

void Verb::does(std::function<int()> what) {
  app_->callback([run = run_, what = std::move(what)] { *run = what; });
}

Verb Verbs::add(const std::string& name, const std::string& help) {
  VerbDescription& verb = program_.verbs.emplace_back();
  verb.name = name;
  verb.help = help;
  return Verb(app_.add_subcommand(name, help), &run_, &verb.options, &verb.examples);
}

double time_option(const std::string& option, const std::string& text, const std::string& such_as) {
  constexpr double kLongest = 366 * 86400.0;
  const Parsed parsed = parse_quantity(text, Dimension::seconds);
  const auto refuse = [&](const std::string& why) {
    return UsageError(fmt::format("{}: {}; give a time such as {}", option, why, such_as));
  };
  if (!parsed) throw refuse(fmt::format("'{}' {}", text, parsed.error));
  if (parsed.value <= 0) throw refuse(fmt::format("'{}' must be above 0", text));
  if (parsed.value > kLongest) throw refuse(fmt::format("'{}' is longer than a year", text));
  return parsed.value;
}

}  // namespace headrace::cli
