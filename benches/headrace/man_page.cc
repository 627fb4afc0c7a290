#include "benches/headrace/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/base/diagnostics.h"

namespace headrace::cli {
namespace {

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

/// Names bold, what they take in italics.
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

}  // namespace

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

std::string verb_man(const ProgramDescription& program, const VerbDescription& verb) {
  std::string text = header(program, program.name + "-" + verb.name);
  text += fmt::format(".SH NAME\n{}\\-{} \\- {}\n.SH SYNOPSIS\n{}\n", program.name, escaped(verb.name),
                      escaped(verb.help), escaped(usage_of(program, verb)));
  text += options("ARGUMENTS", verb.options, true) + options("OPTIONS", verb.options, false) + examples(verb.examples);
  return text + fmt::format(".SH SEE ALSO\n.BR {} (1)\n", program.name);
}

}  // namespace headrace::cli
