// headrace require --formula: the formulas, one of them explained, or one or many of them evaluated.
#pragma once

#include "benches/headrace/verb.h"

namespace headrace::cli {

struct FormulaArguments {
  std::vector<std::string> words;  // a name and its inputs; of --formula alone one that is empty; none: no --formula
  std::string lines;
};

/// Adds --formula and --lines; it goes with --format, of the options added before.
void add_formula_options(Verb& verb, FormulaArguments& arguments);

int formula(const FormulaArguments& arguments, const std::string& format, const Shared& shared);

}  // namespace headrace::cli
