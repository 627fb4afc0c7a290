// The text of a failed system call.
#include "harness/error.h"

#include <cstring>

namespace headrace {

std::string errno_text(int code) {
  char buffer[128];  // strerror() may share one buffer between threads
  const std::string text = ::strerror_r(code, buffer, sizeof buffer);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
  if (const char* name = ::strerrorname_np(code)) return text + " (" + name + ")";
#endif
  return text + " (errno " + std::to_string(code) + ")";
}

RunError system_error(const std::string& operation, const std::string& target, int code) {
  return RunError(operation + " " + target + ": " + errno_text(code));
}

RunError system_error(const std::string& operation, const std::string& target, std::uint64_t offset,
                      int code) {
  return system_error(operation, target + " at offset " + std::to_string(offset), code);
}

}  // namespace headrace
