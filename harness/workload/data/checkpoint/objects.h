// The rest of a killed run's checkpoints in an object store.
#pragma once

#include "harness/backends/objects/scratch.h"

namespace headrace::checkpoint {

/// Removes shards, and aborts uploads, of processes that have ended; those of living ones are left and reported.
/// `far_too`: processes of other machines, whose state is unknown, are taken for ended. Throws RunError.
CleanReport remove_left_objects(const objects::Scratch& scratch, bool far_too);

}  // namespace headrace::checkpoint
