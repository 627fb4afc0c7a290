// An error that keeps one pair of ends from moving data, while others may work.
#pragma once

#include "harness/base/error.h"

namespace headrace::network {

/// Nothing gets through between two ends, though both may be alive. An error that ends a run, such as wrong data, is a
/// RunError.
class LinkError : public RunError {
 public:
  using RunError::RunError;
};

}  // namespace headrace::network
