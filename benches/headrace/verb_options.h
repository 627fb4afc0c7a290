// Verbs and options of the command line, as the verbs see them. CLI11 is behind, in
// verb_options.cc and main.cc alone: it takes seconds to compile wherever it is included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "benches/headrace/description.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headrace::cli {

/// One option as it is added, in sentences: `verb.option(...).required().one_of({"a", "b"})`.
class Option {
 public:
  Option(CLI::Option* option, OptionDescription* described) : option_(option), described_(described) {}
  Option& required();
  /// Anything else is a usage error that names these and the nearest of them.
  Option& one_of(const std::vector<std::string>& words);
  /// Its likely values, for completion.
  Option& suggests(std::vector<std::string> words);
  Option& between(unsigned least, unsigned most);
  /// The value that it has now is in --help.
  Option& shows_default();
  /// Takes one value each time it is given: words that follow are not its own.
  Option& one_value_each();
  Option& separated_by(char delimiter);
  Option& at_most(int values);
  /// As many values as follow, or none: it is then one that is empty.
  Option& any_values();
  /// Where it is not given, the environment variable is.
  Option& or_environment(const std::string& variable);

 private:
  CLI::Option* option_;
  OptionDescription* described_;
};

/// One verb. Variables that options are parsed into must live until the verb has run.
class Verb {
 public:
  Verb(CLI::App* app, std::function<int()>* run, std::deque<OptionDescription>* options, std::vector<Example>* examples)
      : app_(app), run_(run), options_(options), examples_(examples) {}

  /// `names`: "-o,--out FILE", the names and its value, or "RUN" for one without dashes. FILE, DIR, JOB, RUN and PATH
  /// are completed with names of files or folders. An option's empty value is a usage error, except of "[NAME]".
  Option option(const std::string& names, std::string& into, const std::string& help);
  Option option(const std::string& names, std::vector<std::string>& into, const std::string& help);
  Option option(const std::string& names, unsigned& into, const std::string& help);
  Option option(const std::string& names, std::size_t& into, const std::string& help);
  Option option(const std::string& names, std::optional<std::uint64_t>& into, const std::string& help);
  /// `--format`, one of `words`, "json" among them, and `--json` for short.
  void format(std::string& into, const std::vector<std::string>& words, const std::string& help);
  Option flag(const std::string& names, bool& into, const std::string& help);
  /// Sets `into` to "true", or to the given value: `--direct`, `--direct=false`.
  Option flag(const std::string& names, std::string& into, const std::string& help);
  void flag(const std::string& names, std::function<void()> given, const std::string& help);

  /// A heading for the options that follow; rare ones are only in --help-all, as --help is one screen. With `of`, each of
  /// them without that option is a usage error.
  void group(const char* name, bool rare = false, const char* of = "") { group_ = {name, rare, of}; }
  /// `option` goes with those of its group and with `others`. Any other option that was added before is a usage error.
  void alone(const std::string& option, const std::vector<std::string>& others);

  /// A command line that shows the verb's purpose, and `what` it does; the tests run it.
  Verb& example(const std::string& command, const std::string& what);

  /// The verb's action, called after parsing; returns the exit code.
  void does(std::function<int()> what);

 private:
  CLI::App* app_;
  std::function<int()>* run_;  // of the verb that was given, set while parsing
  std::deque<OptionDescription>* options_;
  std::vector<Example>* examples_;
  struct Group {
    const char* name;
    bool rare;
    const char* of;
  } group_{"Options", false, ""};

  OptionDescription& add(const std::string& names, const std::string& help, const char* value);
  Option grouped(CLI::Option* option, OptionDescription& described);
};

/// A time given as an option, above 0 and no longer than a year, `such_as` "24h"; in seconds. Throws
/// UsageError that names the option.
double time_option(const std::string& option, const std::string& text, const std::string& such_as);

/// Where verbs are added to.
class Verbs {
 public:
  Verbs(CLI::App& app, std::function<int()>& run, ProgramDescription& program)
      : app_(app), run_(run), program_(program) {}
  Verb add(const std::string& name, const std::string& help);
  /// Whole once every verb was added; lives as long as the program.
  const ProgramDescription& program() const { return program_; }

 private:
  CLI::App& app_;
  std::function<int()>& run_;
  ProgramDescription& program_;
};

}  // namespace headrace::cli
