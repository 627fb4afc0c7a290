// Reports a person on standard error what a run is doing: one live line on a terminal, plain lines
// elsewhere.
#pragma once

#include <memory>

#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/engine/engine.h"

namespace headrace::cli {

/// `shared.progress` decides: auto (live on a terminal, else plain), plain (a line per phase and
/// one every 30 s), json (one object per line), none. `total_points` is for the ETA.
std::unique_ptr<RunObserver> make_progress(const Shared& shared, const Plan& plan);

}  // namespace headrace::cli
