// Small files read and replaced through their folder's descriptor: whole or not at all.
#pragma once

#include <string>

namespace headrace::system {

/// At most 64 KiB of a regular file; "" when there is none. Follows no symbolic link. Throws RunError when the
/// storage fails, so that what cannot be read is not taken for something else.
std::string read_small_file(int folder, const char* name);

/// Writes `aside`, syncs it and renames it to `name`. Throws RunError naming `shown`.
void replace_small_file(int folder, const char* name, const char* aside, const std::string& text,
                        const std::string& shown);

}  // namespace headrace::system
