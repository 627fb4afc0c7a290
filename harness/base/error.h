// A failure while running: which operation, on what, and the system's own word for it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace headrace {

/// Thrown by prepare, run and the backends; caught once, in the engine: the repetition is `error`, the next one runs.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown instead of it by prepare and its callees when this machine lacks a requested feature. The point is skipped
/// with this reason.
class Unsupported : public RunError {
 public:
  using RunError::RunError;
};

/// "Input/output error (EIO)".
std::string errno_text(int code);

/// "open data/d000/f000001.bin: No such file or directory (ENOENT)".
RunError system_error(const std::string& operation, const std::string& target, int code);
/// "read data/d000/f000001.bin at offset 4096: Input/output error (EIO)".
RunError system_error(const std::string& operation, const std::string& target, std::uint64_t offset, int code);

}  // namespace headrace
