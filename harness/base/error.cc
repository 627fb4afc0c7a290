// The text of a failed system call.
#include "harness/base/error.h"

#include <dlfcn.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace headrace {

namespace {

/// The limit of this process that `code` speaks of, and how to raise it; "" for other codes.
std::string limit_text(int code) {
  rlimit limit{};
  const bool files = code == EMFILE;
  if (code != EMFILE && code != EFBIG) return "";
  if (::getrlimit(files ? RLIMIT_NOFILE : RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  const std::string value = std::to_string(limit.rlim_cur);
  return files ? ": the limit is " + value + " open files; raise it with ulimit -n"
               : ": the limit is " + value + " bytes a file; lift it with ulimit -f unlimited";
}

}  // namespace

std::string errno_text(int code) {
  char buffer[128];  // strerror() may share one buffer between threads
  const std::string text = ::strerror_r(code, buffer, sizeof buffer);
  // Looked up where the program runs: C libraries before glibc 2.32 do not have it.
  static const auto name_of = reinterpret_cast<const char* (*)(int)>(::dlsym(RTLD_DEFAULT, "strerrorname_np"));
  if (const char* name = name_of ? name_of(code) : nullptr) return text + " (" + name + ")" + limit_text(code);
  return text + " (errno " + std::to_string(code) + ")" + limit_text(code);
}

RunError system_error(const std::string& operation, const std::string& target, int code) {
  return RunError(operation + " " + target + ": " + errno_text(code));
}

RunError system_error(const std::string& operation, const std::string& target, std::uint64_t offset, int code) {
  return system_error(operation, target + " at offset " + std::to_string(offset), code);
}

}  // namespace headrace
