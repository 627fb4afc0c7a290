// Which folder one is, beside its path: a copy of it, or one that was unpacked, is another.
#pragma once

#include <string>

namespace headrace::system {

/// Device, number and time of birth, where the file system reports it; "" where there is no such folder.
std::string folder_place(const std::string& path);

}  // namespace headrace::system
