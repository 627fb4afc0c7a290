// A configuration from its layers: the file, the profiles it extends, overrides, and ${...} put in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/base/diagnostics.h"

namespace headrace::config {

/// Keys of a configuration's top level that layers remove, in addition to `extends`.
inline const std::vector<std::string> kConfigurationKeys = {"schema", "name",  "description", "target",
                                                            "seed",   "needs", "defaults",    "workloads"};

/// Reads `file` and the files that it `extends:` (relative to the extending file; a cycle is a problem). A file that is
/// extended must have one of the keys above: messages quote nothing of other files. Maps are merged key by key, the
/// nearer layer wins; lists are replaced. Then `overrides` ("key=value") are applied.
Value load_layers(const std::string& file, const std::vector<std::string>& overrides, Diagnostics& problems);

/// Replaces ${name} and ${name:-text} in every scalar by `names`' value. An unknown name without a
/// text is a problem that lists the nearest one; `hint` is added to it ("give a job with --job").
void substitute(Value& value, const std::map<std::string, std::string>& names, const std::string& hint,
                Diagnostics& problems);

}  // namespace headrace::config
