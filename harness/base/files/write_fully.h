// Writing a stretch of a file that is open, around the page cache where the file system can.
#pragma once

#include <cstdint>

namespace headrace::files {

/// Writes all of `length`; direct I/O is given up when this file system refuses it. False: errno
/// says why.
bool write_fully(int fd, const unsigned char* data, std::uint64_t length, std::uint64_t offset);

}  // namespace headrace::files
