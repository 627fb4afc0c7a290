// The features that this kernel grants this process, found by trying them.
#pragma once

#include <string>

namespace headrace::system {

/// Asked with calls that change nothing. A reason is "" when the thing is there.
struct KernelFeatures {
  std::string release;           // "6.18.44"
  std::string architecture;      // "x86_64"
  std::string no_io_uring;       // "kernel.io_uring_disabled = 2", "Operation not permitted (a seccomp filter?)"
  std::string no_cachestat;      // "needs Linux 6.5"
  std::string no_pressure;       // "no /proc/pressure: ..."
  std::string no_io_accounting;  // "/proc/self/io cannot be read"
};

KernelFeatures kernel_features();

}  // namespace headrace::system
