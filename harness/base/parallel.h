// Untimed work on many items (making, reading, checking files) on several threads, with progress
// and clean stopping.
#pragma once

#include <cstdint>
#include <functional>

namespace headrace {

/// Calls body(worker, item) once for every item in [0, count), in order, on up to `threads` threads (worker:
/// 0..threads-1). The calling thread does none of the work: it calls tick() ten times a second and once at the end. The
/// first exception from body or tick stops the rest (items under way are finished) and is thrown here.
void parallel_for(std::uint64_t count, unsigned threads,
                  const std::function<void(unsigned worker, std::uint64_t item)>& body,
                  const std::function<void()>& tick = {});

}  // namespace headrace
