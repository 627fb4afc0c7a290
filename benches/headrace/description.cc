#include "benches/headrace/description.h"

#include <fmt/format.h>

#include <map>

#include "harness/base/diagnostics.h"

namespace headrace::cli {

const VerbDescription* ProgramDescription::find(const std::string& verb) const {
  for (const VerbDescription& one : verbs)
    if (one.name == verb) return &one;
  return nullptr;
}

std::string usage_of(const ProgramDescription& program, const VerbDescription& verb) {
  std::string text = program.name + " " + verb.name;
  bool more = false;
  for (const OptionDescription& option : verb.options) {
    if (!option.positional() && !option.required) {
      more = true;
      continue;
    }
    std::string word = option.positional() ? option.value : option.names.back() + " " + option.value;
    if (option.repeats) word += " ...";
    text += option.required ? " " + word : " [" + word + "]";
  }
  return more ? text + " [options]" : text;
}

std::string label_of(const OptionDescription& option) {
  if (option.positional()) return option.value + (option.repeats ? " ..." : "");
  return join(option.names) + (option.value.empty() ? "" : " " + option.value);
}

std::string help_of(const OptionDescription& option) {
  std::string text = option.help;
  if (!option.fallback.empty()) text += fmt::format(" (default {})", option.fallback);
  if (!option.environment.empty()) text += fmt::format(" (or the variable {})", option.environment);
  return text;
}

}  // namespace headrace::cli
