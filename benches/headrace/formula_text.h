// Formulas as people read them in a terminal.
#pragma once

#include <span>

#include "benches/headrace/terminal.h"
#include "harness/job/formula.h"

namespace headrace::cli {

/// All formulas, a line each: id, name, title.
Text formulas_text(const Terminal& terminal);
/// Equation, inputs with units, ranges and defaults, validity, source and the worked example.
Text formula_text(const job::Formula& formula, const Terminal& terminal);
/// The value with the numbers put in. Throws DomainError.
Text result_text(const job::Formula& formula, std::span<const job::Argument> arguments, const Terminal& terminal);

}  // namespace headrace::cli
