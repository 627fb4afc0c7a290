// Counters of the whole machine: devices, pressure, processors, network, and the client of a network file system.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "harness/machine/client_counters.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

/// All devices of /proc/diskstats, by "254:0", counted since the machine began.
std::map<std::string, DeviceSlice> parse_diskstats(std::string_view text);

class MachineCounters {
 public:
  explicit MachineCounters(std::string proc);
  /// The counts since the last call, or since the object was made. `file`: one that was read, "" = not known yet: the
  /// client of its file system is asked.
  MachineSlice next(double seconds, const std::string& file, std::map<std::string, DeviceSlice>& devices);
  /// Counts the requests that wait for a FUSE daemon just now; many times between two calls of next().
  void look() noexcept;

 private:
  struct Totals {
    double idle_s = 0, throttled_s = 0;
    double io_stall_s = 0, cpu_stall_s = 0, memory_stall_s = 0;
    std::uint64_t network_read = 0, network_written = 0;
    std::string client_point;  // the mount that `client` is of
    std::optional<system::ClientCounters> client;
    std::map<std::string, DeviceSlice> devices;
  };
  Totals read(const std::string& file);

  const std::string proc_;
  Totals last_;
  std::string fuse_point_;  // the mount that `fuse_` is of
  std::optional<system::FuseQueue> fuse_;
  std::uint64_t daemon_sum_ = 0;
  std::uint32_t daemon_looks_ = 0;
};

}  // namespace headrace::observe
