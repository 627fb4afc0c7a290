// Verbs of earlier versions, which are options of other verbs now. They go away two releases after that.
#pragma once

#include <string>
#include <vector>

#include "benches/headrace/description.h"

namespace headrace::cli {

/// The words of a command line, with the new words in place of an old verb. A line on standard error names them, unless
/// the words have -q.
std::vector<std::string> with_new_verb(const std::vector<std::string>& words, const ProgramDescription& program);

/// "; did you mean 'run'?": the verb nearest to `word`, or the new name of an old one.
std::string did_you_mean_verb(const std::string& word, const ProgramDescription& program);

}  // namespace headrace::cli
