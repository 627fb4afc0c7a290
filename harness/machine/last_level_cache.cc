#include "harness/machine/last_level_cache.h"

#include <cstdlib>
#include <set>

#include "harness/base/system/kernel_files.h"

namespace headrace {
namespace {

/// "32768K" -> bytes.
std::uint64_t bytes_of(const std::string& text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  return *end == 'G' ? number << 30 : *end == 'M' ? number << 20 : *end == 'K' ? number << 10 : number;
}

}  // namespace

std::uint64_t last_level_cache(std::span<const int> cpus, const std::string& root) {
  std::set<std::string> seen;  // by the processors that share it
  std::uint64_t bytes = 0;
  for (const int cpu : cpus) {
    const std::string number = std::to_string(cpu);
    std::string size, shared;
    for (unsigned index = 0;; ++index) {
      const std::string cache = root + "/sys/devices/system/cpu/cpu" + number + "/cache/index" + std::to_string(index);
      const auto found = system::read_line(cache + "/size");
      if (!found) break;
      size = *found;
      shared = system::read_line(cache + "/shared_cpu_list").value_or(number);
    }
    if (!size.empty() && seen.insert(shared).second) bytes += bytes_of(size);
  }
  return bytes;
}

}  // namespace headrace
