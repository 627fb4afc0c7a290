// Formulas as programs read them, and arguments as people type them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/diagnostics.h"
#include "harness/job/formula.h"

namespace headrace::job {

/// Reads "name=value" texts into one argument per input. Values take units (sample_bytes=130kB) or
/// are bare SI numbers; lists are comma-separated. Unknown, repeated, missing and out-of-range
/// inputs are problems, all reported.
std::vector<Argument> parse_arguments(const Formula& formula, std::span<const std::string> assignments,
                                      Diagnostics& problems);

/// The formula's own example, read.
std::vector<Argument> example_arguments(const Formula& formula);

/// All formulas: id, name, title, equation, unit.
std::string formulas_json();
/// Equation, inputs with units, ranges and defaults, validity, source and the worked example.
std::string formula_json(const Formula& formula);
/// {"id", "formula", "value", "unit", "equation", "substituted", "inputs"}. Throws DomainError.
std::string result_json(const Formula& formula, std::span<const Argument> arguments);

/// One evaluation of a batch, {"formula": "A3", "inputs": {"sample_bytes": "130kB", ...}}: its result as
/// {"value", "unit"} or {"error"}, on one line. False: there is no value.
std::pair<std::string, bool> evaluated_line(std::string_view line);

/// "Data ingest" for 'A', the first letter of its formulas' ids.
std::string_view section_title(char letter);
/// "10240/s", "130 kB", "PASS": a result as people read it.
std::string shown_result(const Formula& formula, const Result& result);

/// A page of all formulas.
std::string formulas_markdown();

}  // namespace headrace::job
