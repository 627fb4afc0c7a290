// Paths that lead into an object store instead of a file system.
#pragma once

#include <string_view>

namespace headrace {

/// "s3://bucket/prefix"
inline constexpr std::string_view kObjectScheme = "s3://";

/// The engine that reads and writes them.
inline constexpr const char* kObjectEngine = "s3";

constexpr bool is_object_path(std::string_view path) noexcept { return path.starts_with(kObjectScheme); }

}  // namespace headrace
