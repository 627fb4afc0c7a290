// The processors: model, counts, and clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::system {

struct CpuFacts {
  std::string model;     // "AMD EPYC 9654", or the architecture when the kernel gives no name
  unsigned threads = 0;  // logical processors that are online
  unsigned cores = 0;    // physical; equal to threads without SMT
  unsigned sockets = 0;
  unsigned numa_nodes = 1;
  std::string governor;          // "performance"; "mixed: performance, powersave"; "" = not reported
  std::string frequency_driver;  // "intel_pstate"
  std::optional<double> max_hz;
  std::string last_level_cache;  // "32768K", per group of cores that share it
  std::string microcode;
  bool is_virtual = false;  // the hypervisor bit is set
};

/// `root` has /proc and /sys; tests set their own.
CpuFacts cpu_facts(const std::string& root = "");

/// The numbers of a kernel list: "0-3,8" -> 0 1 2 3 8.
std::vector<unsigned> parse_cpu_list(const std::string& list);
/// How many processors a kernel list such as "0-3,8" names.
unsigned count_cpu_list(const std::string& list);

}  // namespace headrace::system

// The size of the processors' caches, which must be exceeded to measure memory.
namespace headrace {
/// The last-level caches of these processors, each once [B]; 0 = the kernel does not report. `root` has /sys; tests set
/// their own.
std::uint64_t last_level_cache(std::span<const int> cpus, const std::string& root = "");

}  // namespace headrace
