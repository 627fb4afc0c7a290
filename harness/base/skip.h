// What a workload answers when it is asked whether it can run here.
#pragma once

#include <string>

namespace headrace {

/// Why a workload cannot run here. Recorded and shown; not an error.
struct Skip {
  std::string reason;
};

}  // namespace headrace
