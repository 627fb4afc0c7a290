// Several problems of the user's input, told at once.
#pragma once

#include <string>

#include "harness/diagnostics.h"

namespace headrace {

/// A UsageError whose text has a line for each problem. In any other error's text a line break
/// comes from a name or a value, and is shown as one.
class UsageErrors : public UsageError {
 public:
  using UsageError::UsageError;
};

}  // namespace headrace
