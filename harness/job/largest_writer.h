// Which nodes write more of a checkpoint than others.
#pragma once

#include <span>

#include "harness/job/needs.h"

namespace headrace::job {

/// A node's largest multiple of the mean written bytes. If only the optimizer's state is spread, the first replica's
/// ranks write the weights, too (E4). Those of one node share its path. 1: all write the same.
double largest_writer(const Job& job, std::span<const Need> needs);

}  // namespace headrace::job
