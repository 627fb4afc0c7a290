#include "benches/headrace/completion_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"

namespace headrace::cli {
namespace {

constexpr std::string_view kFiles[] = {"FILE", "JOB", "RUN", "PATH", "OTHER"};

/// What stands for one value.
enum class ValueKind { words, file, folder, text };

ValueKind kind_of(const OptionDescription& option) {
  if (!option.words.empty()) return ValueKind::words;
  if (option.value == "DIR") return ValueKind::folder;
  return std::find(std::begin(kFiles), std::end(kFiles), option.value) != std::end(kFiles) ? ValueKind::file
                                                                                           : ValueKind::text;
}

std::string bash_action(const OptionDescription& option) {
  switch (kind_of(option)) {
    case ValueKind::words:
      return "words=" + shell_word(join(option.words, " "));
    case ValueKind::file:
      return "kind=file";
    case ValueKind::folder:
      return "kind=folder";
    case ValueKind::text:
      break;
  }
  return "kind=text";
}

/// "run:-c|run:--config" for a verb's option, "*:--color" for one of every verb.
std::string bash_pattern(const std::string& verb, const OptionDescription& option) {
  std::vector<std::string> all;
  for (const std::string& name : option.names) all.push_back(verb + ":" + name);
  return join(all, "|");
}

std::string names_of(const std::deque<OptionDescription>& options, bool only_with_value) {
  std::vector<std::string> all;
  for (const OptionDescription& option : options)
    if (!option.positional() && (!only_with_value || !option.value.empty()))
      all.insert(all.end(), option.names.begin(), option.names.end());
  return join(all, " ");
}

/// For an argument of _arguments: brackets end what is said of an option, colons its parts.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionDescription& option) {
  switch (kind_of(option)) {
    case ValueKind::words:
      return fmt::format("({})", join(option.words, " "));
    case ValueKind::file:
      return "_files";
    case ValueKind::folder:
      return "_files -/";
    case ValueKind::text:
      break;
  }
  return " ";
}

/// Each a line of an _arguments call.
std::string zsh_arguments(const std::deque<OptionDescription>& options) {
  std::string text;
  for (const OptionDescription& option : options) {
    const std::string value =
        option.value.empty() ? "" : fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option));
    if (option.positional()) {
      text += fmt::format(" \\\n        {}", shell_word((option.repeats    ? "*"
                                                         : option.required ? ":"
                                                                           : ":") +
                                                        (option.repeats ? value : value.substr(1))));
      continue;
    }
    for (const std::string& name : option.names) {
      const std::string others = option.repeats ? "*" : fmt::format("({})", join(option.names, " "));
      text += fmt::format(" \\\n        {}",
                          shell_word(fmt::format("{}{}[{}]{}", others, name, zsh_text(option.help), value)));
    }
  }
  return text;
}

}  // namespace

std::string bash_completion(const ProgramDescription& program) {
  std::vector<std::string> verbs;
  for (const VerbDescription& verb : program.verbs) verbs.push_back(verb.name);
  std::string each, values, positionals;
  for (const VerbDescription& verb : program.verbs) {
    each += fmt::format("    {}) options={} valued={};;\n", verb.name, shell_word(names_of(verb.options, false)),
                        shell_word(names_of(verb.options, true)));
    unsigned number = 0;
    for (const OptionDescription& option : verb.options) {
      if (option.positional()) {
        positionals += fmt::format("    {}:{}) {};;\n", verb.name, option.repeats ? "*" : fmt::format("{}", number),
                                   bash_action(option));
        ++number;
      } else if (!option.value.empty()) {
        values += fmt::format("    {}) {};;\n", bash_pattern(verb.name, option), bash_action(option));
      }
    }
  }
  for (const OptionDescription& option : program.options)
    if (!option.value.empty()) values += fmt::format("    {}) {};;\n", bash_pattern("*", option), bash_action(option));
  // COMP_WORDS takes = for a word of its own.
  return fmt::format(R"(# bash completion for {0}; made by: {0} help --completion bash
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local verb= options= valued= words= kind= place=0 i skip=0
  local every={1} every_valued={2}
  if [[ $word == = ]]; then word=
  elif [[ $before == = && COMP_CWORD -ge 2 ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if ((skip)); then skip=0; [[ ${{COMP_WORDS[i]}} == = ]] && skip=1; continue; fi
    case ${{COMP_WORDS[i]}} in
      -*) [[ " $valued $every_valued " == *" ${{COMP_WORDS[i]}} "* ]] && skip=1;;
      =) ;;
      *) if [[ -n $verb ]]; then ((place++)); else verb=${{COMP_WORDS[i]}}; fi;;
    esac
    case $verb in
{3}    esac
  done
  case $verb:$before in
{4}  esac
  if [[ -z $words$kind ]]; then
    if [[ $word == -* ]]; then words="$options $every"
    elif [[ -z $verb ]]; then words={5}
    else
      case $verb:$place in
{6}      esac
    fi
  fi
  COMPREPLY=()
  case $kind in
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word");;
    folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word");;
    text) ;;
    *) [[ -n $words ]] && mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word");;
  esac
}}
complete -F _{0} {0}
)",
                     program.name, shell_word(names_of(program.options, false)),
                     shell_word(names_of(program.options, true)), each, values, shell_word(join(verbs, " ")),
                     positionals);
}

std::string zsh_completion(const ProgramDescription& program) {
  std::string verbs, each;
  for (const VerbDescription& verb : program.verbs) {
    std::string help = verb.help;
    std::replace(help.begin(), help.end(), ':', ',');
    verbs += fmt::format("      {}\n", shell_word(verb.name + ":" + help));
    each += fmt::format("      {})\n        _arguments $every{};;\n", verb.name, zsh_arguments(verb.options));
  }
  return fmt::format(R"(#compdef {0}
# zsh completion for {0}; made by: {0} help --completion zsh
_{0}() {{
  local curcontext=$curcontext state line
  typeset -A opt_args
  local -a every verbs
  every=({1}
  )
  _arguments -C $every '1:verb:->verb' '*::argument:->argument' && return
  case $state in
    verb)
      verbs=(
{2}      )
      _describe verb verbs;;
    argument)
      case $line[1] in
{3}      esac;;
  esac
}}
_{0} "$@"
)",
                     program.name, zsh_arguments(program.options), verbs, each);
}

}  // namespace headrace::cli
