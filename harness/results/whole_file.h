// A file that a reader finds whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace headrace::results {

/// Writes aside in the same folder, to disk, then renames. Throws RunError; then nothing is left.
void write_whole(const std::string& path, std::string_view text);

/// Puts the folder's names on disk, too.
void sync_folder(const std::string& folder);

}  // namespace headrace::results
