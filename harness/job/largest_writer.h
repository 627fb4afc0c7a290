// Which nodes write more of a checkpoint than others.
#pragma once

#include <span>

#include "harness/job/needs.h"

namespace headrace::job {

/// How many times the mean a node writes at most: with the optimizer's state alone spread, the ranks of the first replica
/// write the weights too (E4), and as many of them as a node has share its path. 1: all write the same.
double largest_writer(const Job& job, std::span<const Need> needs);

}  // namespace headrace::job
