// Memory that a virtual machine has never used. The hypervisor gives it page by page at the first touch. That can make
// the first read into the page cache several times slower.
#pragma once

#include <cstdint>

#include "harness/engine/run_result.h"
#include "harness/workload/data/data_set.h"

namespace headrace::engine {

/// Free memory for `needed_bytes` of page cache without eviction. It is MemFree less a reserve, and at most
/// `most_bytes` (a control group's rest).
std::uint64_t touchable_bytes(std::uint64_t needed_bytes, std::uint64_t free_bytes, std::uint64_t most_bytes);

/// Touches as much free memory as `needed_bytes` of page cache will take, and gives it back at once.
/// Does nothing on a real machine, and nothing for what this process touched before. It ends after `most_s`
/// (0 = never), as far as it has come then. `progress` hears of it and may throw to end it.
FirstTouch touch_memory(std::uint64_t needed_bytes, std::uint64_t most_bytes, double most_s,
                        const DataProgress& progress);

}  // namespace headrace::engine
