// What a verb answers before any evidence, in at most three lines.
#pragma once

#include <optional>

#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"

namespace headrace::cli {

struct Answer {
  std::optional<Outcome> word = {};  // before the sentence; nothing where nothing was judged
  Text sentence;                     // the verdict with its figures
  Text cause = {}, next = {};        // next: a command, or what to do; both may be empty
};

/// `sentences` with the first of them as the answer, and the rest as its cause.
Answer answer_of(Outcome word, std::string_view sentences, Text next = {});

/// "FAIL: this node feeds 5 of 8 GPUs.", the cause, "Next: headrace ...", and an empty line; "" of an empty answer.
Text answer_text(const Answer& answer, const Terminal& terminal);

}  // namespace headrace::cli
