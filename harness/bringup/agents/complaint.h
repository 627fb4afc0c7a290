// What a program complained of, in one line.
#pragma once

#include <string>

namespace headrace::agents {

/// Of what was printed on standard error: the first line that headrace wrote itself, without its name; else, where mpirun drew a
/// frame, the first paragraph in it; else the last line that has a letter or a digit. "" = nothing.
std::string complaint_in(const std::string& text);

}  // namespace headrace::agents
