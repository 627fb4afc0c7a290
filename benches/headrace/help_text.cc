#include "benches/headrace/help_text.h"

#include <algorithm>

namespace headrace::cli {
namespace {

constexpr std::size_t kLabels = 24;  // a wider label gets a line of its own

/// "  LABEL   text", with the text wrapped to the right.
Text row(const Text& label, const std::string& text, std::size_t labels, std::size_t width) {
  const std::size_t indent = labels + 4;
  const Text body = wrap(Text(text), width - indent, indent);
  if (columns(label) <= labels) return "  " + pad(label, labels) + "  " + body + "\n";
  return "  " + label + "\n" + pad("", indent) + body + "\n";
}

/// Arguments, or options under the headings of their groups; rare ones where `all` are asked for.
Text option_rows(const std::deque<OptionDescription>& options, bool positional, bool all, std::size_t width,
                 const Terminal& terminal) {
  const auto shown = [&](const OptionDescription& o) { return (all || !o.rare) && o.positional() == positional; };
  std::size_t labels = 0;
  std::vector<std::string> groups;
  for (const OptionDescription& option : options) {
    if (!shown(option)) continue;
    labels = std::max(labels, std::min(kLabels, columns(Text(label_of(option)))));
    const std::string group = positional ? "Arguments" : option.group;
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  }
  Text out;
  for (const std::string& group : groups) {
    out += "\n" + terminal.paint(Text(group), Ink::strong) + "\n";
    for (const OptionDescription& option : options) {
      if (!shown(option) || (!positional && option.group != group)) continue;
      const bool said = option.repeats && option.help.find("repeat") == option.help.npos && !positional;
      out += row(Text(label_of(option)), help_of(option) + (said ? " (repeatable)" : ""), labels, width);
    }
  }
  return out;
}

/// A command line; broken as a shell takes it where it is too long.
Text command_lines(const std::string& command, std::size_t width) {
  Text out;
  std::size_t used = 2;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find(' ', at), command.size());
    const std::string word = command.substr(at, end - at);
    if (at == 0) {
      out += "  " + Text(word);
    } else if (used + 1 + word.size() + 2 > width) {  // the backslash, too
      out += " \\\n      " + Text(word);
      used = 5;
    } else {
      out += " " + Text(word);
    }
    used += word.size() + 1;
    at = end + 1;
  }
  return out;
}

Text example_rows(const std::vector<Example>& examples, std::size_t width) {
  Text out;
  for (const Example& one : examples)
    out += Text::format("{}\n      {}\n", command_lines(one.command, width), wrap(Text(one.what), width - 6, 6));
  return out;
}

Text examples(const std::vector<Example>& examples, std::size_t width, const Terminal& terminal) {
  if (examples.empty()) return "";
  return terminal.paint(examples.size() == 1 ? Text("\nExample\n") : Text("\nExamples\n"), Ink::strong) +
         example_rows(examples, width);
}

}  // namespace

Text first_text(const std::vector<Example>& commands, const Terminal& terminal) {
  return terminal.paint(Text("Three commands to begin with"), Ink::strong) + "\n" +
         example_rows(commands, terminal.text_width()) + "\nheadrace --help lists all verbs.\n";
}

Text program_help(const ProgramDescription& program, const Terminal& terminal) {
  const std::size_t width = terminal.text_width();
  std::size_t verbs = 0;
  Text out = wrap(Text(program.name + " - " + program.help), width, 2) + "\n\n";
  out += Text::format("Usage: {} VERB [options]\n", program.name) + terminal.paint("\nVerbs\n", Ink::strong);
  for (const VerbDescription& verb : program.verbs) verbs = std::max(verbs, verb.name.size());
  for (const VerbDescription& verb : program.verbs) out += row(Text(verb.name), verb.help, verbs, width);
  out += option_rows(program.options, false, true, width, terminal);
  out += terminal.paint("\nExit codes\n", Ink::strong);
  for (const ExitCode& code : program.exit_codes)
    out += row(pad(Text::format("{}", code.code), 3, true), code.meaning, 3, width);
  return out + examples(program.examples, width, terminal) +
         Text::format("\n{} help VERB lists the options of a verb.\n", program.name);
}

Text verb_help(const ProgramDescription& program, const VerbDescription& verb, bool all, const Terminal& terminal) {
  const std::size_t width = terminal.text_width();
  const auto hidden = std::ranges::count_if(verb.options, [&](const OptionDescription& o) { return o.rare && !all; });
  Text out = wrap(Text(verb.help), width, 0) + "\n" + examples(verb.examples, width, terminal);
  out += "\nUsage: " + wrap(Text(usage_of(program, verb)), width - 7, 7) + "\n";
  out += option_rows(verb.options, true, all, width, terminal) + option_rows(verb.options, false, all, width, terminal);
  if (hidden > 0) out += Text::format("\n{} {} --help-all lists {} more options.\n", program.name, verb.name, hidden);
  return out;
}

}  // namespace headrace::cli
