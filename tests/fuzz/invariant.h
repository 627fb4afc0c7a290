// What must hold for every input: said aloud, then the fuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace headrace::fuzzing {

/// Ends the run when `holds` is false, significant what was expected and of which value.
inline void expect(bool holds, const char* what, const std::string& value) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s: %s\n", what, value.c_str());
  std::abort();
}

}  // namespace headrace::fuzzing
