// This machine's description: everything that can change a result, in words, for run files and comparisons.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headrace {

class Node;

/// Facts about the machine for run files, in sections: "kernel", "file_system", "device"...
using Fingerprint = std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>>;

namespace system {

/// Sections "host", "kernel", "cpu", "memory", "limits", "cgroup", "file_system" and "device" (of `path`), "backends",
/// and one for each GPU ("gpu0"). "data_file_system" is of `data`, a data set in another place; "" = there is none.
/// Unreadable values are left out. Values are text for people. Never throws.
Fingerprint fingerprint(const std::string& path, Node& node, const std::string& data = "");

}  // namespace system
}  // namespace headrace
