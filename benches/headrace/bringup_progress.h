// Reports a person on standard error how far a bring-up is.
#pragma once

#include <memory>

#include "benches/headrace/verb.h"
#include "harness/bringup/bring_up.h"

namespace headrace::cli {

/// As --progress says: one live line on a terminal, else a line a round; an object a line; or nothing.
std::unique_ptr<bringup::Audience> make_bringup_progress(const Shared& shared);

}  // namespace headrace::cli
