// The conclusions of a finished bring-up, to be shown without judging again.
#pragma once

#include <string>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// As record_from(), with word, sentence and faults. Throws UsageError.
Record concluded_from(const std::string& text, const std::string& file);

}  // namespace headrace::bringup
