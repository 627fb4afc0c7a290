// The identity of a folder in addition to its path: a copy, or one that was unpacked, is another folder.
#pragma once

#include <string>

namespace headrace::system {

/// Device, number and time of birth, where the file system reports it; "" where there is no such folder.
std::string folder_place(const std::string& path);

}  // namespace headrace::system
