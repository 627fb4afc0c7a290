// The archive to send when a machine is not as it should be: its description, and nothing else. Possible secrets never
// get in: only listed variables of the environment, and no paths of users.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headrace::system {

struct BundleFile {
  std::string name;  // "pci.txt"
  std::string text;
};

/// Topology, drivers, counters and the kernel's words about devices, as /proc, /sys and /dev/kmsg report them. `root`
/// has them; tests set their own. Never throws.
std::vector<BundleFile> kernel_bundle(const std::string& root = "");

/// The variables of this process's environment that may be reported, "NAME=value" a line.
std::string reported_environment();

/// `text` without local names. An absolute path outside the system becomes "<path>", a confidential variable's value
/// "<removed>", the host's name "<host>". Those of six letters or more.
std::string scrubbed(std::string_view text);

/// A gzipped tar archive of `files`, below `folder`. Its header has the name `folder`.tar, as gzip writes it.
std::string archive(const std::vector<BundleFile>& files, std::string_view folder);

}  // namespace headrace::system
