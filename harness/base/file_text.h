// A whole file as a text.
#pragma once

#include <cstddef>
#include <string>

namespace headrace {

/// Throws UsageError "cannot be read: ...", or where it has more than `most` bytes, as devices do that never end; who knows
/// what the file was wanted for says its path.
std::string file_text(const std::string& path, std::size_t most = std::size_t{1} << 30);

}  // namespace headrace
