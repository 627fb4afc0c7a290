// Adds the learned value of one key of the job file to the others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/observe/observation.h"

namespace headrace::observe {

void learn_word(Observation& seen, const std::string& key, const std::string& text, Confidence confidence,
                const std::string& evidence);
/// `spread`: of the bounds, relative to `value`, which is in base units. More than 5 % is `low` despite `confidence`.
void learn_number(Observation& seen, const std::string& key, double value, double spread, Dimension dimension,
                  Confidence confidence, const std::string& evidence);

/// An unseen value: the job file leaves its key out, so that nothing judges by it.
void learn_unknown(Observation& seen, const std::string& key, Dimension dimension, const std::string& evidence);
/// dataset.path.
void learn_path(Observation& seen, const std::string& folder, Confidence confidence, const std::string& evidence);

/// "1 folder", "3 folders".
std::string counted(std::uint64_t number, std::string_view noun);

/// checkpoint.* and model.parameters, from the saves that were seen; nothing where none was.
void learn_saves(const Recording& recording, Observation& seen);

}  // namespace headrace::observe
