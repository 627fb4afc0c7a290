// The limits of this process's control group: cores, memory, I/O rates. Versions 1 and 2.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::system {

struct CgroupLimits {
  int version = 0;                           // 2, 1 (also mixed), 0 = no control groups
  std::string path;                          // of the group that limits memory: "/user.slice/job_17"
  std::optional<double> cores;               // CPU quota; the tightest on the way to the root
  std::optional<std::uint64_t> memory;       // hard or throttling limit, whichever is less [B]
  std::optional<std::uint64_t> memory_rest;  // the rest of it, page cache counted as free [B]
  std::optional<std::uint64_t> tasks;        // processes and threads
  std::optional<std::uint64_t> tasks_rest;   // of them, that may still be started
  std::vector<std::string> io;               // "254:0 rbps=104857600", as the kernel writes them
};

/// `root` has /proc and /sys; tests set their own.
CgroupLimits cgroup_limits(const std::string& root = "");

/// A control group's limits to and from one device, per second; infinite where it sets none.
struct IoLimits {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  double read_bytes = kNone, written_bytes = kNone, reads = kNone, writes = kNone;
};
/// The tightest of `limits` for the device with this number ("254:0").
IoLimits io_limits(const CgroupLimits& limits, std::string_view device_number);

/// Processor time withheld so far by the CPU quotas of this process's group and its parents, summed over processors
/// [s]. Nothing where the kernel does not report.
std::optional<double> throttled_seconds(const std::string& root = "");

}  // namespace headrace::system
