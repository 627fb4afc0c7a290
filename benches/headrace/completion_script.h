// Completion for shells, from the same description as --help: what follows a verb and an option.
#pragma once

#include <string>

#include "benches/headrace/description.h"

namespace headrace::cli {

/// To be sourced by bash 4 or newer, or found by bash-completion.
std::string bash_completion(const ProgramDescription& program);
/// `_headrace` of a folder in zsh's fpath.
std::string zsh_completion(const ProgramDescription& program);

}  // namespace headrace::cli
