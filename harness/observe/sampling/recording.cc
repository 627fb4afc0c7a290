#include "harness/observe/sampling/recording.h"

#include "harness/base/counters.h"

#include <algorithm>

namespace headrace::observe {
namespace {

void add(WaitCounts& to, const WaitCounts& more) {
  for (std::size_t i = 0; i < kWaits; ++i) to[i] += more[i];
}

void add(DeviceSlice& to, const DeviceSlice& more) {
  to.reads += more.reads;
  to.read_bytes += more.read_bytes;
  to.writes += more.writes;
  to.written_bytes += more.written_bytes;
  to.read_wait_s += more.read_wait_s;
  to.write_wait_s += more.write_wait_s;
  to.busy_s += more.busy_s;
  to.queue_s += more.queue_s;
  add_pace(to.pace, more.pace);
}

}  // namespace

void add_client(ClientSlice& to, const ClientSlice& more) {
  to.read_bytes += more.read_bytes;
  to.name_requests += more.name_requests;
  to.reads += more.reads;
  to.queue_s += more.queue_s;
  to.round_trip_s += more.round_trip_s;
  to.execution_s += more.execution_s;
  to.sent += more.sent;
  to.in_flight_sum += more.in_flight_sum;
  to.waiting_sum += more.waiting_sum;
  to.daemon_sum += more.daemon_sum;
  to.daemon_looks += more.daemon_looks;
}

ProcessCounters difference(const ProcessCounters& later, const ProcessCounters& earlier) {
  return {.read_calls_bytes = system::grown(later.read_calls_bytes, earlier.read_calls_bytes),
          .write_calls_bytes = system::grown(later.write_calls_bytes, earlier.write_calls_bytes),
          .read_calls = system::grown(later.read_calls, earlier.read_calls),
          .write_calls = system::grown(later.write_calls, earlier.write_calls),
          .storage_read_bytes = system::grown(later.storage_read_bytes, earlier.storage_read_bytes),
          .storage_written_bytes = system::grown(later.storage_written_bytes, earlier.storage_written_bytes),
          .major_faults = system::grown(later.major_faults, earlier.major_faults),
          .user_s = std::max(0.0, later.user_s - earlier.user_s),
          .system_s = std::max(0.0, later.system_s - earlier.system_s),
          .queued_s = std::max(0.0, later.queued_s - earlier.queued_s)};
}

void add_counters(ProcessCounters& to, const ProcessCounters& more) {
  to.read_calls_bytes += more.read_calls_bytes;
  to.write_calls_bytes += more.write_calls_bytes;
  to.read_calls += more.read_calls;
  to.write_calls += more.write_calls;
  to.storage_read_bytes += more.storage_read_bytes;
  to.storage_written_bytes += more.storage_written_bytes;
  to.major_faults += more.major_faults;
  to.user_s += more.user_s;
  to.system_s += more.system_s;
  to.queued_s += more.queued_s;
}

void add_process(ProcessSlice& to, const ProcessSlice& more) {
  add(to.lead, more.lead);
  add(to.others, more.others);
  add(to.behind, more.behind);
  for (const ThreadSlice& one : more.threads) {
    const auto same = std::find_if(to.threads.begin(), to.threads.end(),
                                   [&](const ThreadSlice& have) { return have.thread == one.thread; });
    if (same == to.threads.end())
      to.threads.push_back(one);
    else
      add(same->waits, one.waits);
  }
  for (std::size_t i = 0; i < kStretches; ++i) to.stretches[i] += more.stretches[i];
  to.looks += more.looks;
  to.unsure += more.unsure;
  to.pauses += more.pauses;
  to.takes += more.takes;
  to.taken_calls += more.taken_calls;
  to.first_takes += more.first_takes;
  to.looked_calls += more.looked_calls;
  add_counters(to.counted, more.counted);
}

void add_slice(Slice& to, const Slice& next) {
  const double before = to.seconds(), after = next.seconds(), whole = std::max(1e-9, before + after);
  const auto mean = [&](double a, double b) { return (a * before + b * after) / whole; };
  for (const ProcessSlice& more : next.processes) {
    const auto same = std::find_if(to.processes.begin(), to.processes.end(),
                                   [&](const ProcessSlice& one) { return one.process == more.process; });
    if (same == to.processes.end())
      to.processes.push_back(more);
    else
      add_process(*same, more);
  }
  for (const auto& [name, device] : next.devices) add(to.devices[name], device);
  MachineSlice& m = to.machine;
  const MachineSlice& n = next.machine;
  m.idle_cpus = mean(m.idle_cpus, n.idle_cpus);
  m.io_stall = mean(m.io_stall, n.io_stall);
  m.cpu_stall = mean(m.cpu_stall, n.cpu_stall);
  m.memory_stall = mean(m.memory_stall, n.memory_stall);
  m.throttled_s += n.throttled_s;
  m.page_cache_bytes = n.page_cache_bytes;
  m.network_read_bytes += n.network_read_bytes;
  m.network_written_bytes += n.network_written_bytes;
  add_client(m.client, n.client);
  for (const GpuSlice& more : next.gpus) {
    const auto same =
        std::find_if(to.gpus.begin(), to.gpus.end(), [&](const GpuSlice& one) { return one.gpu == more.gpu; });
    if (same == to.gpus.end()) {
      to.gpus.push_back(more);
      continue;
    }
    same->looks += more.looks;
    same->busy += more.busy;
    same->memory_busy += more.memory_busy;
  }
  to.end_s = next.end_s;
}

}  // namespace headrace::observe
