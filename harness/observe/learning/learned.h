// Adds the learned value of one key of the job file to the others.
#pragma once

#include <string>

#include "harness/observe/observation.h"

namespace headrace::observe {

void learn_word(Observation& seen, const std::string& key, const std::string& text, Confidence confidence,
                const std::string& evidence);
/// `spread`: of the bounds, relative to `value`, which is in base units. More than 5 % is `low` despite `confidence`.
void learn_number(Observation& seen, const std::string& key, double value, double spread, Dimension dimension,
                  Confidence confidence, const std::string& evidence);

/// checkpoint.* and model.parameters, from the saves that were seen; nothing where none was.
void learn_saves(const Recording& recording, Observation& seen);

}  // namespace headrace::observe
