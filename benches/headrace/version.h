// The output of `headrace --version`, and the parts of it that run files keep.
#pragma once

#include "benches/headrace/text.h"

namespace headrace::cli {

/// Version, git revision, compiler, schema numbers, and a line per backend: built and usable, or
/// why not.
Text version_text();

}  // namespace headrace::cli
