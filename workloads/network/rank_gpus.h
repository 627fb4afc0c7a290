// Which GPU each rank takes, of those that it sees. Launchers show every process all GPUs of its node, or its own alone
// (Slurm's --gpus-per-task). Only UUIDs identify them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/record/ranks/ranks.h"

namespace headrace::network {

/// The UUIDs of all GPUs that this process sees, in words for others.
std::string seen_gpus(GpuBackend& gpus);

/// The GPU of each rank, as it counts them. No two ranks of a node have the same one. Where every rank sees all, each
/// takes the one of its place on the node. `seen`: what seen_gpus() gave each. Throws Unsupported where a node has too
/// few, naming it.
std::vector<unsigned> share_gpus_out(std::span<const RankPlace> places, std::span<const std::string> seen);

}  // namespace headrace::network
