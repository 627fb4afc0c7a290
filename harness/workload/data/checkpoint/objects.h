// What a killed run left of checkpoints in an object store.
#pragma once

#include "harness/backends/objects/scratch.h"

namespace headrace::checkpoint {

/// Removes shards, and aborts uploads, of processes that are not there any more; what belongs to living ones is left and
/// reported. `far_too`: those of other machines, of which nothing can be known, are taken for gone. Throws RunError.
CleanReport remove_left_objects(const objects::Scratch& scratch, bool far_too);

}  // namespace headrace::checkpoint
