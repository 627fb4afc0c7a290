// What to send when a machine is not as it should be: one archive of what it is, and of nothing else. What may hold a
// secret never gets in: variables of the environment by a list of those that may, paths of users not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headrace::system {

struct BundleFile {
  std::string name;  // "pci.txt"
  std::string text;
};

/// Topology, drivers, counters and the kernel's words about devices, as /proc, /sys and /dev/kmsg report them. `root` is
/// where they are looked for; tests lay their own. Never throws.
std::vector<BundleFile> kernel_bundle(const std::string& root = "");

/// The variables of this process's environment that may be reported, "NAME=value" a line.
std::string reported_environment();

/// `text` without what only this place knows: each absolute path that is not the system's own becomes "<path>", and each
/// value of a variable that may not be reported "<removed>", the host's name "<host>"; those of six letters or more.
std::string scrubbed(std::string_view text);

/// A gzipped tar archive of `files`, below `folder`.
std::string archive(const std::vector<BundleFile>& files, std::string_view folder);

}  // namespace headrace::system
