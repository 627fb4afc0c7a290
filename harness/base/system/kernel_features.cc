#include "harness/base/system/kernel_features.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/base/system/kernel_files.h"

namespace headrace::system {
namespace {

// Same numbers on every architecture that Linux added these calls to after 2019.
constexpr long kIoUringSetup = 425;
constexpr long kCachestat = 451;

std::string why_no_io_uring() {
  // A null parameter block is refused with EFAULT by a kernel that would have served the call.
  if (syscall(kIoUringSetup, 1, nullptr) >= 0 || errno == EFAULT) return "";
  const int code = errno;
  if (code == ENOSYS) return "this kernel has no io_uring (Linux 5.1 has)";
  if (const auto disabled = read_number("/proc/sys/kernel/io_uring_disabled"); disabled && *disabled > 0)
    return "kernel.io_uring_disabled = " + std::to_string(*disabled);
  const std::string words = std::strerror(code);
  return code == EPERM || code == EACCES ? words + " (a seccomp filter of the container?)" : words;
}

std::string why_no_cachestat() {
  if (syscall(kCachestat, -1, nullptr, nullptr, 0) >= 0 || errno == EBADF || errno == EFAULT) return "";
  if (errno == ENOSYS) return "this kernel has no cachestat (Linux 6.5 has)";
  return std::strerror(errno);
}

}  // namespace

KernelFeatures kernel_features() {
  KernelFeatures features;
  if (utsname name{}; uname(&name) == 0) {
    features.release = name.release;
    features.architecture = name.machine;
  }
  features.no_io_uring = why_no_io_uring();
  features.no_cachestat = why_no_cachestat();
  if (!read_line("/proc/pressure/io"))
    features.no_pressure = "no pressure information (/proc/pressure; Linux 4.20 with CONFIG_PSI, or boot with psi=1)";
  if (!read_line("/proc/self/io")) features.no_io_accounting = "/proc/self/io cannot be read";
  return features;
}

}  // namespace headrace::system
