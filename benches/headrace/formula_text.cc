#include "benches/headrace/formula_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "benches/headrace/table.h"
#include "harness/job/formula_output.h"
#include "harness/job/sources.h"

namespace headrace::cli {
namespace {

using namespace job;

/// `text` after `lead`, its further lines below its first.
Text after(const Text& lead, const Text& text, const Terminal& terminal) {
  const std::size_t indent = columns(lead), width = static_cast<std::size_t>(std::max(terminal.width(), 40));
  return lead + wrap(text, width - indent, indent) + "\n";
}

}  // namespace

Text formulas_text(const Terminal& terminal) {
  Text out;
  char section = 0;
  for (const Formula& formula : all_formulas()) {
    if (formula.id[0] != section) {
      section = formula.id[0];
      out += Text::format("{}{}. {}\n", out.empty() ? "" : "\n", section, section_title(section));
    }
    const Text lead = Text::format("  {:<4} {:<36} ", formula.id, formula.name);
    constexpr int kBeside = 90;
    out += terminal.width() >= kBeside
               ? lead + formula.title + "\n"
               : Text::format("  {:<4} {}\n", formula.id, formula.name) + after("       ", formula.title, terminal);
  }
  return out + "\n" +
         after("", "headrace require --formula NAME explains one; --formula NAME INPUT=VALUE... evaluates it.",
               terminal);
}

Text formula_text(const Formula& formula, const Terminal& terminal) {
  Text out =
      after("", Text::format("{} {}: {} [{}]", formula.id, formula.name, formula.title, formula.unit), terminal) + "\n";
  out += after("  equation  ", formula.equation, terminal);
  out += after("  holds     ", formula.validity, terminal);
  out += after("  source    ", formula.source, terminal);
  for (const Source& source : sources_named_in(formula.source))
    out += after(Text::format("            {}: ", source.word), source.text, terminal);
  out += "\n";
  Table inputs({{"input"}, {"name"}, {"unit"}, {"allowed"}});
  for (const Input& input : formula.inputs) {
    const std::string fallback = input.shown_default();
    inputs.row({input.symbol, input.name, input.unit(),
                input.allowed() + (fallback.empty() ? "" : fmt::format(" (default {})", fallback))});
  }
  out += inputs.text(terminal);
  const std::vector<Argument> arguments = example_arguments(formula);
  out += "\nexample\n" + after(Text::format("  headrace require --formula {} ", formula.id), formula.example, terminal);
  out += after("  = ", substituted(formula, arguments), terminal);
  return out + Text::format("  = {}\n", shown_result(formula, evaluate(formula, arguments)));
}

Text result_text(const Formula& formula, std::span<const Argument> arguments, const Terminal& terminal) {
  const Result result = evaluate(formula, arguments);
  return Text::format("{} = {}\n", formula.name, shown_result(formula, result)) +
         after("  = ", substituted(formula, arguments), terminal) + after("  = ", formula.equation, terminal);
}

}  // namespace headrace::cli
