// What the machine as a whole counts: devices, pressure, processors, network, and the client of a network file system.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "harness/observe/recording.h"

namespace headrace::observe {

/// All devices of /proc/diskstats, by "254:0", counted since the machine began.
std::map<std::string, DeviceSlice> parse_diskstats(std::string_view text);

class MachineCounters {
 public:
  explicit MachineCounters(std::string proc);
  /// What was counted since the last call, or since the object was made. `file`: one that was read, "" = not known yet: of
  /// its file system the client is asked.
  MachineSlice next(double seconds, const std::string& file, std::map<std::string, DeviceSlice>& devices);

 private:
  struct Totals {
    double idle_s = 0, throttled_s = 0;
    double io_stall_s = 0, cpu_stall_s = 0, memory_stall_s = 0;
    std::uint64_t network_read = 0, network_written = 0, client_read = 0, client_requests = 0;
    std::map<std::string, DeviceSlice> devices;
  };
  Totals read(const std::string& file);

  const std::string proc_;
  Totals last_;
};

}  // namespace headrace::observe
