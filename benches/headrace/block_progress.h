// Reports a person on standard error how far interleaved blocks are: one live line, or one line a turn.
#pragma once

#include <memory>

#include "benches/headrace/session/interleave.h"
#include "benches/headrace/verb.h"

namespace headrace::cli {

/// `shared.progress` decides, as for make_progress().
std::unique_ptr<session::TurnObserver> make_block_progress(const Shared& shared);

}  // namespace headrace::cli
