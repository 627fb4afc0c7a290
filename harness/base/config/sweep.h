// One entry of `workloads:` becomes points: every list is a sweep axis, and the axes are crossed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/base/config/document.h"

namespace headrace::config {

/// One combination: the entry with a scalar for every key, and the swept keys with their values, in
/// file order.
struct Combination {
  Value entry;
  std::vector<std::pair<std::string, std::string>> swept;
};

/// Crosses the lists of `entry` (a map). Keys in `plain` are never axes. "a..b*f" and "a..b+d"
/// written as one text are axes too: 4KiB..4MiB*2. A combination that matches any map of `exclude`
/// (all its keys equal) is dropped. More than `most` combinations, an empty list or a nested list
/// is a problem.
std::vector<Combination> expand(const Value& entry, const std::vector<std::string>& plain, std::size_t most,
                                Diagnostics& problems);

/// "4KiB..4MiB*2" -> {"4KiB", "8KiB", ...}; empty when `text` is not a range. A bad range is a
/// problem.
std::vector<std::string> expand_range(const std::string& text, const Location& where, Diagnostics& problems);

}  // namespace headrace::config
