// Whose runs these are: of a node, or of a cluster that several hosts are.
#pragma once

#include <vector>

#include "harness/results/run_file.h"

namespace headrace::history {

/// Gives runs of several hosts the name of their cluster ("node[01-08]") for a node, whichever of them had rank 0. Runs
/// belong to one cluster when they share more than half of the hosts of the larger one.
void name_clusters(std::vector<results::StoredRun>& runs);

}  // namespace headrace::history
