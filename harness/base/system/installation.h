// Where this copy of headrace keeps what it ships: example configs, the report maker, the docs, the
// plugins.
#pragma once

#include <string>

namespace headrace::system {

/// Folders of the tree that the binary belongs to, absolute; "" when this copy has none.
struct Installation {
  std::string binary;   // the running executable
  std::string configs;  // quickstart.yaml, jobs/ ...
  std::string reports;  // holds the Python package headrace_report
  std::string docs;
  std::string plugins;     // headrace_io_uring.so ...
  bool installed = false;  // from `cmake --install`; false = run from a build folder
  std::string why;         // why there is no tree; "" when there is one
};

/// Found by a mark that the build writes next to the binary, and `cmake --install` into PREFIX/share/headrace. It names
/// the build of the binary. A mark of another build counts for nothing. So does one that others than the binary's own
/// writers could have written. No absolute path is compiled in: an installed tree can be copied.
const Installation& installation();

/// Why `path` cannot be trusted as code or as a command. Its owner and writers (mode, ACLs: writers.h) must be root,
/// this process's user or the writers of the running binary. "" = it can.
std::string foreign_writer(const std::string& path);
/// The same for a folder and all that is in it.
std::string foreign_writer_within(const std::string& folder);

/// A file that the user named: `path` when it exists, else the shipped file of that name ("configs/quickstart.yaml",
/// "configs/jobs/x.yaml"). So the documented commands work from any folder. `path` itself when there is neither.
std::string find_shipped(const std::string& path);

}  // namespace headrace::system
