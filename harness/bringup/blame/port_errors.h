// RDMA ports whose own counters of errors rose while pairs met.
#pragma once

#include <vector>

#include "harness/bringup/blame/judge.h"

namespace headrace::bringup {

/// NICs that counted their own errors in at least two pairs since their last repair. Where more than a third of the
/// ports of a rail did, the fabric is so.
std::vector<Broken> port_errors(const Record& record);

}  // namespace headrace::bringup
