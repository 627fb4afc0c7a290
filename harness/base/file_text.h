// A whole file as a text.
#pragma once

#include <cstddef>
#include <string>

namespace headrace {

inline constexpr std::size_t kMostText = std::size_t{256} << 20;  // [B]

/// Throws UsageError, to which the caller adds the path: "cannot be read: ...", where the file has more than `most` bytes, as
/// devices have that never end, and where a pipe gives nothing for 10 s.
std::string file_text(const std::string& path, std::size_t most = kMostText);

}  // namespace headrace
