// Why a host takes no part, and a possible remedy.
#pragma once

#include <string>

namespace headrace::agents {

struct Failure {
  std::string why, fix;      // "" = it takes part
  bool unreachable = false;  // no sign of life came from it, or none any more
  bool duplicate = false;    // another name of a host that takes part
  explicit operator bool() const { return !why.empty(); }
};

}  // namespace headrace::agents
