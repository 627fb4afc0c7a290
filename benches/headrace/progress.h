// Shows a run's progress on standard error: one live line on a terminal, plain lines elsewhere.
#pragma once

#include <memory>

#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/engine/engine.h"

namespace headrace::cli {

/// `shared.progress` is auto (live on a terminal, else plain), plain, json (one object per line) or none. plain prints
/// a line per phase and one every 30 s. `total_points` is for the ETA.
std::unique_ptr<RunObserver> make_progress(const Shared& shared, const Plan& plan);

}  // namespace headrace::cli
