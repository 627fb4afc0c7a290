// The command line, described once: help, man pages and completion are made from this.
#pragma once

#include <deque>
#include <string>
#include <vector>

namespace headrace::cli {

struct OptionDescription {
  std::vector<std::string> names = {};  // "-o", "--out"; none of a positional
  std::string value = {};               // "FILE": its value; "" = a flag; of a positional its name
  std::string help = {};
  std::vector<std::string> words = {};  // that it takes, or is likely to
  std::string fallback = {};            // shown default
  std::string environment = {};         // a variable that can give it
  bool required = false;
  bool repeats = false;  // takes several values, or is given several times
  bool rare = false;     // in --help-all alone
  std::string group = {};

  bool positional() const { return names.empty(); }
};

struct Example {
  std::string command;
  std::string what;  // it shows
};

struct VerbDescription {
  std::string name;
  std::string help;  // one line
  std::deque<OptionDescription> options;
  std::vector<Example> examples;
};

struct ExitCode {
  int code = 0;
  std::string meaning;
};

struct ProgramDescription {
  std::string name, help, version;
  std::deque<VerbDescription> verbs;      // in the order of the list
  std::deque<OptionDescription> options;  // of every verb
  std::vector<Example> examples;
  std::vector<ExitCode> exit_codes;

  /// nullptr: there is none.
  const VerbDescription* find(const std::string& verb) const;
};

/// "headrace size JOB --runs RUN ... [options]"
std::string usage_of(const ProgramDescription& program, const VerbDescription& verb);
/// "-o, --out FILE": names and value as help shows them; of a positional its name.
std::string label_of(const OptionDescription& option);
/// The help with further facts: default, words, environment, "repeatable".
std::string help_of(const OptionDescription& option);

}  // namespace headrace::cli
