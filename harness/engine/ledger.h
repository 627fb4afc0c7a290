// The work of the process and the machine during a phase: counters read before and after it, and their differences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/machine/block_device.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/client_counters.h"
#include "harness/record/client_calls.h"
#include "harness/record/repetition.h"

namespace headrace::engine {

/// One reading of everything. Counters that the kernel does not have stay absent.
struct Counters {
  std::uint64_t at_ns = 0;
  double cpu_s = 0;         // user + system of this process
  double user_s = 0;        // user alone
  bool self_known = false;  // the kernel has /proc/self/io
  std::uint64_t self_read = 0, self_written = 0;
  std::uint64_t device_read = 0, device_written = 0;
  std::uint64_t device_reads = 0, device_writes = 0;
  double steal_ticks = 0, user_ticks = 0, all_ticks = 0;  // of /proc/stat's first line
  std::optional<std::uint64_t> io_us, cpu_us, memory_us;  // PSI "some" totals
  std::optional<double> throttled_s;                      // of the control group, all processors
};
Counters read_counters(const std::optional<system::BlockDevice>& device);

/// Differences summed over the phases of a repetition, and their evidence of neighbours (rule 14).
class Ledger {
 public:
  void add(const Counters& before, const Counters& after);
  double cpu_s() const { return cpu_s_; }
  std::uint64_t storage_bytes() const { return self_read_; }
  std::uint64_t device_bytes() const { return device_read_; }
  /// The limit that was reached, if one was, in words: then that was measured, and not the device.
  std::string held_to(const system::IoLimits& limits) const;
  /// Was it long enough for the control probe to report anything?
  bool can_drift() const;
  /// `delivered_bytes`, read and written, is what foreign I/O is compared with. Where nothing is delivered (names are
  /// made and looked up), the process's own reads are. The kernel then writes the journal in its own name, so that only
  /// reads of others can be reported. `before` and `after`: the control probe [ns], -1 = not taken.
  Disturbance judge(std::uint64_t delivered_bytes, double before = -1, double after = -1) const;

 private:
  double elapsed_s_ = 0, cpu_s_ = 0, user_s_ = 0, throttled_s_ = 0;
  double steal_ticks_ = 0, user_ticks_ = 0, all_ticks_ = 0;
  std::uint64_t self_read_ = 0, self_written_ = 0, device_read_ = 0, device_written_ = 0;
  std::uint64_t device_reads_ = 0, device_writes_ = 0;
  double io_s_ = 0, cpu_wait_s_ = 0, memory_s_ = 0;
  bool io_known_ = true, cpu_known_ = true, memory_known_ = true;
};

// The requests of a network file system's client between two looks at its counters.

/// Operations that were requested in between, the longest first. `counter`: where that was read.
ClientCalls calls_between(const system::ClientCounters& before, const system::ClientCounters& after,
                          const std::string& counter);

}  // namespace headrace::engine
