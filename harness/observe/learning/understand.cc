#include <algorithm>
#include <cmath>

#include "harness/machine/cgroup.h"
#include "harness/observe/learning/learn.h"
#include "harness/observe/learning/limit.h"
#include "harness/observe/learning/shares.h"
#include "harness/observe/nccl/nccl_behind.h"
#include "harness/observe/sampling/gpus.h"

namespace headrace::observe {
namespace {

/// Nothing where no client counted anything.
std::optional<ClientSeen> client_of(const std::vector<const Slice*>& slices) {
  ClientSlice sum;
  double seconds = 0;
  for (const Slice* slice : slices) {
    add_client(sum, slice->machine.client);
    seconds += slice->seconds();
  }
  if (sum.read_bytes + sum.reads + sum.sent + sum.daemon_looks == 0) return std::nullopt;
  const auto reads = static_cast<double>(sum.reads), sent = static_cast<double>(sum.sent);
  ClientSeen client{.read_rate = static_cast<double>(sum.read_bytes) / seconds,
                    .reads = reads / seconds,
                    .queue_s = ratio(sum.queue_s, reads),
                    .round_trip_s = ratio(sum.round_trip_s, reads),
                    .took_s = ratio(sum.execution_s, reads),
                    .in_flight = ratio(static_cast<double>(sum.in_flight_sum), sent),
                    .waiting = ratio(static_cast<double>(sum.waiting_sum), sent),
                    .at_daemon = {}};
  if (sum.daemon_looks != 0) client.at_daemon = static_cast<double>(sum.daemon_sum) / sum.daemon_looks;
  return client;
}

/// Of looks, the share that found storage awaited.
double share_at_storage(const WaitCounts& waits) {
  double stored = 0;
  for (const Wait wait : {Wait::read, Wait::name, Wait::write, Wait::fault}) stored += of(waits, wait);
  return ratio(stored, total(waits));
}

StorageSeen storage_of(const std::vector<const Slice*>& slices, const Observation& seen) {
  StorageSeen storage;
  storage.device = seen.data.device;
  storage.client = client_of(slices);
  DeviceSlice sum;
  double waiting = 0;
  for (const Slice* slice : slices) {
    storage.seconds += slice->seconds();
    for (const ProcessSlice& one : slice->processes) {
      if (!(seen.roles.in_process ? seen.roles.is_consumer(one.process) : seen.roles.is_worker(one.process))) continue;
      waiting += share_at_storage(one.lead) * slice->seconds();
      for (const ThreadSlice& thread : one.threads) waiting += share_at_storage(thread.waits) * slice->seconds();
    }
    const auto device = slice->devices.find(storage.device);
    if (device == slice->devices.end()) continue;
    sum.reads += device->second.reads;
    sum.read_bytes += device->second.read_bytes;
    sum.written_bytes += device->second.written_bytes;
    sum.read_wait_s += device->second.read_wait_s;
    sum.busy_s += device->second.busy_s;
    sum.queue_s += device->second.queue_s;
  }
  const auto each_second = [&](double sum_of) { return ratio(sum_of, storage.seconds); };
  const auto read_bytes = static_cast<double>(sum.read_bytes), reads = static_cast<double>(sum.reads);
  storage.waiting_threads = each_second(waiting);
  storage.read_rate = each_second(read_bytes);
  storage.requests = each_second(reads);
  storage.write_rate = each_second(static_cast<double>(sum.written_bytes));
  storage.busy = std::min(1.0, each_second(sum.busy_s));
  storage.queue = each_second(sum.queue_s);
  storage.request_bytes = ratio(read_bytes, reads);
  storage.wait_s = ratio(sum.read_wait_s, reads);
  if (!storage.device.empty()) {
    const system::IoLimits limits = system::io_limits(system::cgroup_limits(), storage.device);
    if (std::isfinite(limits.read_bytes)) storage.limit_bytes = limits.read_bytes;
    if (std::isfinite(limits.reads)) storage.limit_requests = limits.reads;
  }
  return storage;
}

/// The rate of all processes of the job, wrappers and readers alike.
std::optional<double> own_rate(const Recording& recording, const std::vector<const Slice*>& slices) {
  double bytes = 0, seconds = 0;
  for (const Slice* slice : slices) {
    seconds += slice->seconds();
    for (const ProcessSlice& one : slice->processes) bytes += static_cast<double>(one.counted.storage_read_bytes);
  }
  const bool refused = std::any_of(recording.processes.begin(), recording.processes.end(),
                                   [](const ProcessSeen& one) { return one.counters_refused; });
  return refused ? std::nullopt : std::optional(ratio(bytes, seconds));
}

}  // namespace

Observation understand(const Recording& recording, const std::string& root) {
  Observation seen;
  seen.roles = find_roles(recording);
  const std::vector<const Slice*> slices = slices_within(recording, seen.roles.begin_s, seen.roles.end_s);
  seen.data = survey_data(recording, seen.roles, root);
  seen.consumer = consumer_shares(slices, seen.roles);
  if (!seen.roles.workers.empty())
    seen.workers = worker_shares(slices, seen.roles);
  else if (!seen.roles.threads.empty())
    seen.workers = thread_shares(slices, seen.roles);
  seen.standing_still = standing_still(recording, slices);
  seen.training = consumer_shares(beside_saves(recording, slices), seen.roles);
  seen.storage = storage_of(slices, seen);
  seen.storage.own_rate = own_rate(recording, slices);
  find_gpus(recording, slices, seen);
  double seconds = 0;
  for (const Slice* slice : slices) {
    seconds += slice->seconds();
    seen.idle_cpus += slice->machine.idle_cpus * slice->seconds();
    seen.throttled += slice->machine.throttled_s;
    for (const ProcessSlice& one : slice->processes) seen.used_cpus += one.counted.user_s + one.counted.system_s;
  }
  for (double* one : {&seen.idle_cpus, &seen.throttled, &seen.used_cpus}) *one = ratio(*one, seconds);
  if (!slices.empty()) seen.quota_cpus = system::cgroup_limits().cores;
  learn(recording, slices, seen);
  seen.limit = find_limit(recording, slices, seen);
  seen.nccl = find_behind(recording.nccl, recording.elapsed_s);
  apply_nccl(seen);
  for (const std::string& one : recording.refused) seen.notes.push_back(one);
  if (recording.paths_left_out > 0) seen.notes.push_back("more files were seen than are kept; those of the begin are");
  return seen;
}

}  // namespace headrace::observe
