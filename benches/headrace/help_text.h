// The help of the program and of each verb, for terminals.
#pragma once

#include "benches/headrace/description.h"
#include "benches/headrace/terminal.h"

namespace headrace::cli {

/// Commands to begin with.
Text first_text(const std::vector<Example>& commands, const Terminal& terminal);
/// Verbs, options of every verb, exit codes, examples.
Text program_help(const ProgramDescription& program, const Terminal& terminal);
/// Usage, arguments, options and examples of one verb.
Text verb_help(const ProgramDescription& program, const VerbDescription& verb, bool all, const Terminal& terminal);

}  // namespace headrace::cli
