// A failure while running: which operation, on what, and the system's own word for it.
#pragma once

#include <stdexcept>
#include <string>

namespace headrace {

/// Thrown by prepare, run and the backends; caught once, in the engine: the repetition is `error`, the next goes on.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "open data/d000/f000001.bin: No such file or directory (errno 2)".
RunError system_error(const std::string& operation, const std::string& target, int code);

}  // namespace headrace
