// Where the time of the consumers and makers of batches went.
#pragma once

#include <functional>
#include <vector>

#include "harness/observe/observation.h"

namespace headrace::observe {

/// The slices while batches were taken.
std::vector<const Slice*> slices_within(const Recording& recording, double begin_s, double end_s);

/// Part over whole, both given by `of` for each slice; bounds over up to 20 groups of neighbours.
struct PartAndWhole {
  double part = 0, whole = 0;
};
Share share_over(const std::vector<const Slice*>& slices, const std::string& name,
                 const std::function<PartAndWhole(const Slice&)>& of);

/// The shares of the first thread of those: waiting_for_loader, interpreter_lock, reading, making, saving, processor,
/// queued, gpu, pause, other. making: on a processor between reads of one batch; queued: ready, and no processor free.
std::vector<Share> consumer_shares(const std::vector<const Slice*>& slices, const Roles& roles);
/// reading, opening, faults, writing, interpreter_lock, processor, queued, consumer, pause, other: of the workers. Of several
/// loaders, those count that are busy at least half as much as the busiest.
std::vector<Share> worker_shares(const std::vector<const Slice*>& slices, const Roles& roles);
/// The same, but for queued, of the consumers' threads that bring data in.
std::vector<Share> thread_shares(const std::vector<const Slice*>& slices, const Roles& roles);
/// Where the time of main threads that read themselves goes when they take a batch, as worker_shares().
std::vector<Share> own_reading_shares(const std::vector<const Slice*>& slices, const Roles& roles);

/// Does the thread that takes batches write it, or wait while another does?
bool stands_still(const SaveSeen& save);
/// Those of `slices` in which training waits for no save. Its computing or waiting then is no part of a step. All of
/// them where those are too few for bounds.
std::vector<const Slice*> beside_saves(const Recording& recording, const std::vector<const Slice*>& slices);
/// The share of that time in which training waited for saves.
Share standing_still(const Recording& recording, const std::vector<const Slice*>& slices);

/// The share of the time in which consumers waited for batches, or made them, in one slice.
PartAndWhole starving(const Slice& slice, const Roles& roles);

}  // namespace headrace::observe
