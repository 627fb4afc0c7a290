// What keeps one pair of ends from moving data, whatever others can.
#pragma once

#include "harness/base/error.h"

namespace headrace::network {

/// Nothing gets through between two ends, though both may be alive. What ends a run, such as wrong data, is a RunError.
class LinkError : public RunError {
 public:
  using RunError::RunError;
};

}  // namespace headrace::network
