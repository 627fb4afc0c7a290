// How much the processors' caches hold: what must be exceeded to measure memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace headrace {

/// The last-level caches of these processors, each once [B]; 0 = the kernel does not report. `root`
/// is where /sys is looked for; tests lay their own.
std::uint64_t last_level_cache(std::span<const int> cpus, const std::string& root = "");

}  // namespace headrace
