// What a verb answers before any evidence: three lines, and a line for each further fault.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"

namespace headrace::cli {

struct Answer {
  std::optional<Outcome> word = {};  // before the sentence; nothing where nothing was judged
  Text sentence;                     // the verdict with its figures
  Text cause = {}, next = {};        // next: a command, or what to do; both may be empty
  std::vector<Text> causes = {};     // further ones
};

/// `sentences` with the first of them as the answer, and the rest as its cause.
Answer answer_of(Outcome word, std::string_view sentences, Text next = {});

/// "FAIL: this node feeds 5 of 8 GPUs.", the cause, "Next: headrace ...", and an empty line; "" of an empty answer.
Text answer_text(const Answer& answer, const Terminal& terminal);

/// A step after `lead`, wrapped, and a line break. A command stays on one line, so that it can be pasted; a comment ("  # ")
/// follows it where there is room, else on a line of its own.
Text step_text(std::string_view lead, const std::string& step, std::size_t width);

}  // namespace headrace::cli
