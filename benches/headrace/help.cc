// headrace help: the command line's description.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "benches/headrace/console.h"
#include "benches/headrace/help_text.h"
#include "benches/headrace/old_verbs.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"

namespace headrace::cli {
namespace {

// Manual pages, from the same description as --help: for man(1), in its macros.

/// As troff shows it as it is: backslashes, minus signs, and dots at the beginning of a line.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string header(const ProgramDescription& program, std::string title) {
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", escaped(title), program.name, program.version);
}

std::string paragraph(const std::string& label, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", label, escaped(text));
}

/// Names bold, their values in italics.
std::string label(const OptionDescription& option) {
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "\\fB" : ", \\fB") + escaped(name) + "\\fR";
  if (!option.value.empty()) text += (text.empty() ? "\\fI" : " \\fI") + escaped(option.value) + "\\fR";
  return option.repeats && option.positional() ? text + " ..." : text;
}

std::string options(const char* title, const std::deque<OptionDescription>& all, bool positional) {
  std::string text;
  for (const OptionDescription& option : all)
    if (option.positional() == positional) text += paragraph(label(option), help_of(option));
  return text.empty() ? "" : fmt::format(".SH {}\n", title) + text;
}

std::string examples(const std::vector<Example>& all) {
  std::string text;
  for (const Example& one : all)
    text += fmt::format(".PP\n{}\n.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", escaped(one.what), escaped(one.command));
  return text.empty() ? "" : ".SH EXAMPLES\n" + text;
}

/// headrace(1).
std::string program_man(const ProgramDescription& program) {
  std::string text = header(program, program.name);
  text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n.I VERB\n[options]\n", program.name,
                      escaped(program.help), program.name);
  text += ".SH VERBS\n";
  for (const VerbDescription& verb : program.verbs)
    text += paragraph(fmt::format("\\fB{}\\fR", escaped(verb.name)), verb.help);
  text += options("OPTIONS OF EVERY VERB", program.options, false) + ".SH EXIT STATUS\n";
  for (const ExitCode& code : program.exit_codes) text += paragraph(fmt::format("{}", code.code), code.meaning);
  text += examples(program.examples) + ".SH SEE ALSO\n";
  for (const VerbDescription& verb : program.verbs)
    text +=
        fmt::format(".BR {}\\-{} (1){}\n", program.name, escaped(verb.name), &verb == &program.verbs.back() ? "" : ",");
  return text;
}

/// headrace-VERB(1).
std::string verb_man(const ProgramDescription& program, const VerbDescription& verb) {
  std::string text = header(program, program.name + "-" + verb.name);
  text += fmt::format(".SH NAME\n{}\\-{} \\- {}\n.SH SYNOPSIS\n{}\n", program.name, escaped(verb.name),
                      escaped(verb.help), escaped(usage_of(program, verb)));
  text += options("ARGUMENTS", verb.options, true) + options("OPTIONS", verb.options, false) + examples(verb.examples);
  return text + fmt::format(".SH SEE ALSO\n.BR {} (1)\n", program.name);
}

// Completion for shells, from the same description as --help: the words after a verb and an option.

constexpr std::string_view kFiles[] = {"FILE", "JOB", "RUN", "PATH", "OTHER"};

/// The kind of an option's value.
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

/// For an argument of _arguments: brackets end an option's description, colons its parts.
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

/// To be sourced by bash 4 or newer, or found by bash-completion.
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

/// `_headrace` of a folder in zsh's fpath.
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

/// Lines of `complete`, for ~/.config/fish/completions.
std::string fish_completion(const ProgramDescription& program) {
  const std::string begin = "complete -c " + program.name;
  std::string text =
      fmt::format("# fish completion for {0}; made by: {0} help --completion fish\n{1} -f\n", program.name, begin);
  const auto add = [&](const std::string& when, const std::deque<OptionDescription>& options) {
    for (const OptionDescription& option : options) {
      if (option.positional() && kind_of(option) == ValueKind::text) continue;
      text += begin + when;
      for (const std::string& name : option.names)
        if (!option.positional())
          text += (name.starts_with("--") ? " -l " : " -s ") + name.substr(name.starts_with("--") ? 2 : 1);
      if (kind_of(option) == ValueKind::words) text += " -a " + shell_word(join(option.words, " "));
      if (kind_of(option) == ValueKind::file || kind_of(option) == ValueKind::folder) text += " -F";
      if (!option.positional() && !option.value.empty()) text += " -r";
      text += " -d " + shell_word(option.help) + "\n";
    }
  };
  add("", program.options);
  for (const VerbDescription& verb : program.verbs) {
    text += fmt::format("{} -n __fish_use_subcommand -a {} -d {}\n", begin, verb.name, shell_word(verb.help));
    add(fmt::format(" -n '__fish_seen_subcommand_from {}'", verb.name), verb.options);
  }
  return text;
}

struct HelpArguments {
  std::string verb, shell;
  bool all = false, man = false, verbs = false;
};

std::vector<std::string> names_of_verbs(const ProgramDescription& program) {
  std::vector<std::string> names;
  for (const VerbDescription& verb : program.verbs) names.push_back(verb.name);
  return names;
}

int help(const HelpArguments& arguments, const ProgramDescription& program, const Shared& shared) {
  if (arguments.verbs) {
    print_document(join(names_of_verbs(program), "\n") + "\n");
    return 0;
  }
  if (!arguments.shell.empty()) {
    print_document(arguments.shell == "bash"   ? bash_completion(program)
                   : arguments.shell == "fish" ? fish_completion(program)
                                               : zsh_completion(program));
    return 0;
  }
  const VerbDescription* verb = program.find(arguments.verb);
  if (verb == nullptr && !arguments.verb.empty()) {
    throw UsageError(fmt::format("help: no verb '{}'{} (headrace help lists them)", arguments.verb,
                                 did_you_mean_verb(arguments.verb, program)));
  }
  const Terminal terminal(stdout, shared);
  if (arguments.man)
    print_document(verb ? verb_man(program, *verb) : program_man(program));
  else
    print(verb ? verb_help(program, *verb, arguments.all, terminal) : program_help(program, terminal));
  return 0;
}

void add_help(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("help", "Print this list, the options of one verb, or a completion script");
  auto a = std::make_shared<HelpArguments>();
  verb.option("VERB", a->verb, "A verb; without one, all of them are listed").suggests(names_of_verbs(verbs.program()));
  verb.flag("--all", a->all, "Include rare options, as headrace VERB --help-all does");
  verb.flag("--man", a->man, "Print it as a manual page, for man -l");
  verb.flag("--verbs", a->verbs, "Print the names of all verbs, one a line");
  verb.option("--completion SHELL", a->shell, "Print the completion script for a shell: bash, fish or zsh")
      .one_of({"bash", "fish", "zsh"});
  verb.alone("--completion", {});
  verb.example("headrace help run", "What `run` takes");
  verb.example("headrace help --man run",
               "The same as a manual page: save it as headrace-run.1 and read it with man -l");
  verb.example("headrace help --completion bash", "For one's own shell: source <(headrace help --completion bash)");
  verb.does([&shared, a, &program = verbs.program()] { return help(*a, program, shared); });
}

// Last, so that it knows the other verbs.
const RegisterVerb help_registered{130, add_help};

}  // namespace
}  // namespace headrace::cli
