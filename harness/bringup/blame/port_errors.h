// RDMA ports whose own counters of errors rose while pairs met.
#pragma once

#include <vector>

#include "harness/bringup/blame/judge.h"

namespace headrace::bringup {

/// NICs that counted errors of their own in at least two pairs since they were last repaired, where not more than a third of the
/// ports of their rail did: then that is how this fabric is.
std::vector<Broken> port_errors(const Record& record);

}  // namespace headrace::bringup
