// Manual pages, from the same description as --help: for man(1), in its macros.
#pragma once

#include <string>

#include "benches/headrace/description.h"

namespace headrace::cli {

/// headrace(1).
std::string program_man(const ProgramDescription& program);
/// headrace-VERB(1).
std::string verb_man(const ProgramDescription& program, const VerbDescription& verb);

}  // namespace headrace::cli
