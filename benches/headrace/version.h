// What `headrace --version` prints, and the parts of it that run files keep.
#pragma once

#include <string>

namespace headrace::cli {

/// Version, git revision, compiler, schema numbers, and a line per backend: built and usable, or
/// why not.
std::string version_text();

}  // namespace headrace::cli
