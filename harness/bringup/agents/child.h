// A program that an agent runs for its collector. It is ended when it takes too long, or is no longer needed.
#pragma once

#include <string>
#include <vector>

namespace headrace::agents {

// What a program complained of, in one line.

/// The error message within text of standard error: the first line that headrace wrote itself, without its name. Else,
/// where mpirun drew a frame, the first paragraph in it. Else the last line that has a letter or a digit. "" = nothing.
std::string complaint_in(const std::string& text);

inline constexpr int kNobody = -1;  // as `input`: it ends by itself, or by its time

struct Ended {
  int code = 0;       // its exit code, or 128 + the signal that ended it
  bool late = false;  // it was ended after its time
  std::string words;  // what it complained of (complaint.h)
};

/// Runs `command` and waits for it, for at most `most_s` seconds, or until `input` ends, which has no other reader. Its
/// output is dropped. Throws RunError when no process can be made.
Ended run_child(const std::vector<std::string>& command, int input, double most_s);

}  // namespace headrace::agents
