// Where the time of those who take batches and of those who make them went.
#pragma once

#include <functional>
#include <vector>

#include "harness/observe/observation.h"

namespace headrace::observe {

/// The slices while batches were taken.
std::vector<const Slice*> slices_within(const Recording& recording, double begin_s, double end_s);

/// Part over whole of what `of` tells of each slice; bounds over up to 20 groups of neighbours.
struct PartAndWhole {
  double part = 0, whole = 0;
};
Share share_over(const std::vector<const Slice*>& slices, const std::string& name,
                 const std::function<PartAndWhole(const Slice&)>& of);

/// waiting_for_loader, reading, saving, processor, queued (ready, and no processor free), gpu, pause, other.
std::vector<Share> consumer_shares(const std::vector<const Slice*>& slices, const Roles& roles);
/// reading, opening, faults, writing, processor, queued, consumer, other.
std::vector<Share> worker_shares(const std::vector<const Slice*>& slices, const Roles& roles);

/// Does the thread that takes batches write it, or wait while another does?
bool stands_still(const SaveSeen& save);
/// Those of `slices` in which training stands still for no save: what that computes or waits for is no part of a step. All of them
/// where those are too few for bounds.
std::vector<const Slice*> beside_saves(const Recording& recording, const std::vector<const Slice*>& slices);
/// How much of that time training stood still for saves.
Share standing_still(const Recording& recording, const std::vector<const Slice*>& slices);

/// How much of the time those who take batches waited for some, in one slice.
PartAndWhole starving(const Slice& slice, const Roles& roles);

}  // namespace headrace::observe
