// Verbs and options of the command line, as the verbs see them. CLI11 stands behind, in
// verb_options.cc and main.cc alone: it takes seconds to compile wherever it is included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headrace::cli {

/// One option as it is added, in sentences: `verb.option(...).required().one_of({"a", "b"})`.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& required();
  /// Anything else is a usage error that names these and the nearest of them.
  Option& one_of(const std::vector<std::string>& words);
  Option& between(unsigned least, unsigned most);
  /// The value that it has now stands in --help.
  Option& shows_default();
  /// Takes one value each time it is given: words that follow are not its own.
  Option& one_value_each();
  Option& separated_by(char delimiter);
  Option& at_most(int values);
  /// Where it is not given, the environment variable is.
  Option& or_environment(const std::string& variable);

 private:
  CLI::Option* option_;
};

/// One verb. What options are parsed into must live until the verb has run.
class Verb {
 public:
  Verb(CLI::App* app, std::function<int()>* run) : app_(app), run_(run) {}

  /// `names`: "-o,--out", or "RUN" for one without dashes.
  Option option(const std::string& names, std::string& into, const std::string& help);
  Option option(const std::string& names, std::vector<std::string>& into, const std::string& help);
  Option option(const std::string& names, unsigned& into, const std::string& help);
  Option option(const std::string& names, std::size_t& into, const std::string& help);
  Option option(const std::string& names, std::optional<std::uint64_t>& into, const std::string& help);
  /// `--format`, one of `words`, "json" among them, and `--json` for short.
  void format(std::string& into, const std::vector<std::string>& words, const std::string& help);
  void flag(const std::string& names, bool& into, const std::string& help);
  void flag(const std::string& names, std::function<void()> given, const std::string& help);

  /// What the verb does, called after parsing; returns the exit code.
  void does(std::function<int()> what);

 private:
  CLI::App* app_;
  std::function<int()>* run_;  // of the verb that was given, set while parsing
};

/// A time given as an option, above 0 and no longer than a year, `such_as` "24h"; in seconds. Throws
/// UsageError that names the option.
double time_option(const std::string& option, const std::string& text, const std::string& such_as);

/// Where verbs are added to.
class Verbs {
 public:
  Verbs(CLI::App& app, std::function<int()>& run) : app_(app), run_(run) {}
  Verb add(const std::string& name, const std::string& help);

 private:
  CLI::App& app_;
  std::function<int()>& run_;
};

}  // namespace headrace::cli
