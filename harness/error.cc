// The text of a failed system call.
#include "harness/error.h"

#include <cstring>

namespace headrace {

RunError system_error(const std::string& operation, const std::string& target, int code) {
  char buffer[128];  // strerror() may share one buffer between threads
  const char* text = ::strerror_r(code, buffer, sizeof buffer);
  return RunError(operation + " " + target + ": " + text + " (errno " + std::to_string(code) + ")");
}

}  // namespace headrace
