// Which of the kernel's calls are distinguished, and what their arguments say.
#pragma once

#include <string_view>

#include "harness/observe/calls/call_log.h"

namespace headrace::observe::calls {

/// Indices of arguments; -1: there is none.
struct Shape {
  std::string_view name;
  Kind kind;
  int fd = -1, folder = -1, path = -1, size = -1, offset = -1;
};
/// nullptr: it is none of those.
const Shape* shape_of(std::string_view name);

}  // namespace headrace::observe::calls
