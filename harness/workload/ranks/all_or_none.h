// Steps that several ranks make together: all of them succeed, or all of them fail for the same reason.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/ranks/ranks.h"

namespace headrace {

/// Each rank does `step`, which returns what it has to say; returned is what each said. Where a step throws, its rank
/// says why instead, and all ranks throw: that one its own error, the others the same with its name, Unsupported where
/// that is what it was. So nobody waits for one that failed, and the next exchange finds all at the same place. Throws
/// RanksError as Ranks::gather() does, but where the own step failed; `timeout_s` counts from when the first rank is done.
std::vector<std::string> in_concert(Ranks& ranks, std::string_view what, double timeout_s,
                                    const std::function<std::string()>& step);

}  // namespace headrace
