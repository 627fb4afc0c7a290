#include "benches/headrace/verb_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "harness/diagnostics.h"
#include "harness/units.h"

namespace headrace::cli {

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  const std::string allowed = join(words);
  option_->check(CLI::Validator(
      [words, allowed](const std::string& given) {
        if (std::find(words.begin(), words.end(), given) != words.end()) return std::string();
        return "'" + given + "' is not one of " + allowed + did_you_mean(given, words);
      },
      "{" + CLI::detail::join(words, ",") + "}"));
  return *this;
}

Option& Option::between(unsigned least, unsigned most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::shows_default() {
  option_->capture_default_str();
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

Option& Option::or_environment(const std::string& variable) {
  option_->envname(variable);
  return *this;
}

Option Verb::option(const std::string& names, std::string& into, const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Verb::option(const std::string& names, std::vector<std::string>& into, const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Verb::option(const std::string& names, unsigned& into, const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Verb::option(const std::string& names, std::size_t& into, const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

Option Verb::option(const std::string& names, std::optional<std::uint64_t>& into, const std::string& help) {
  return Option(app_->add_option(names, into, help));
}

void Verb::format(std::string& into, const std::vector<std::string>& words, const std::string& help) {
  option("--format", into, help).one_of(words).shows_default();
  flag(
      "--json", [&into] { into = "json"; }, "The same as --format json");
}

void Verb::flag(const std::string& names, bool& into, const std::string& help) { app_->add_flag(names, into, help); }

void Verb::flag(const std::string& names, std::function<void()> given, const std::string& help) {
  app_->add_flag_callback(names, std::move(given), help);
}

void Verb::does(std::function<int()> what) {
  app_->callback([run = run_, what = std::move(what)] { *run = what; });
}

Verb Verbs::add(const std::string& name, const std::string& help) {
  return Verb(app_.add_subcommand(name, help), &run_);
}

double time_option(const std::string& option, const std::string& text, const std::string& such_as) {
  constexpr double kLongest = 366 * 86400.0;
  const Parsed parsed = parse_quantity(text, Dimension::seconds);
  const auto refuse = [&](const std::string& why) {
    return UsageError(fmt::format("{}: {}; allowed: a time such as {}", option, why, such_as));
  };
  if (!parsed) throw refuse(fmt::format("'{}' {}", text, parsed.error));
  if (parsed.value <= 0) throw refuse(fmt::format("'{}' must be above 0", text));
  if (parsed.value > kLongest) throw refuse(fmt::format("'{}' is longer than a year", text));
  return parsed.value;
}

}  // namespace headrace::cli
