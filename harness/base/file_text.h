// A whole file as a text.
#pragma once

#include <cstddef>
#include <string>

namespace headrace {

inline constexpr std::size_t kMostText = std::size_t{256} << 20;  // [B]

/// Throws UsageError ("cannot be read: ..."), to which the caller adds the path. The reason may be more than `most`
/// bytes, as in endless devices, or a pipe without data for 10 s. A pipe
/// with a name in a file system is refused: it may never end.
std::string file_text(const std::string& path, std::size_t most = kMostText);

/// Is the open file such a pipe? One of the shell, as in <(command), has no name in a file system, and has a writer.
bool is_named_pipe(int fd);
inline constexpr const char* kIsNamedPipe = "is a pipe or a device: write its output to a file and name that";

}  // namespace headrace
