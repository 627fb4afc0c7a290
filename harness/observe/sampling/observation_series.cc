#include "harness/observe/sampling/observation_series.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "harness/observe/learning/shares.h"

namespace headrace::observe {
namespace {

using nlohmann::ordered_json;

/// Shares of the looks at the first threads of those that count, by what they were found at.
struct Waits {
  std::array<double, kWaits> looks{};
  void add(const WaitCounts& more) {
    for (std::size_t w = 0; w < kWaits; ++w) looks[w] += more[w];
  }
  double all() const { return std::accumulate(looks.begin(), looks.end(), 0.0); }
  double share(Wait wait) const { return all() > 0 ? looks[static_cast<std::size_t>(wait)] / all() : 0; }
  double on_storage() const {
    double sum = 0;
    for (std::size_t w = 0; w < kWaits; ++w)
      if (is_storage(static_cast<Wait>(w))) sum += share(static_cast<Wait>(w));
    return sum;
  }
};

/// By the names of to_string(Wait), each over time.
class WaitsOverTime {
 public:
  void add(const Waits& waits) {
    for (std::size_t w = 0; w < kWaits; ++w) lists_[w].push_back(waits.share(static_cast<Wait>(w)));
  }
  ordered_json json() const {
    ordered_json all = ordered_json::object();
    for (std::size_t w = 0; w < kWaits; ++w) all[std::string(to_string(static_cast<Wait>(w)))] = lists_[w];
    return all;
  }

 private:
  std::array<std::vector<double>, kWaits> lists_;
};

/// What clients of network file systems and of FUSE counted.
std::map<std::string, std::vector<double>> of_clients(const Recording& recording) {
  std::map<std::string, std::vector<double>> lists;
  for (const Slice& slice : recording.slices) {
    if (slice.seconds() <= 0) continue;
    const ClientSlice& c = slice.machine.client;
    const double reads = std::max(1.0, static_cast<double>(c.reads));
    lists["client_bytes_per_s"].push_back(static_cast<double>(c.read_bytes) / slice.seconds());
    lists["client_read_s"].push_back(c.execution_s / reads);
    lists["client_queue_s"].push_back(c.queue_s / reads);
    lists["daemon_requests"].push_back(static_cast<double>(c.daemon_sum) / std::max(1u, c.daemon_looks));
  }
  return lists;
}

/// Of the job's GPUs, on average.
std::vector<double> gpus_over_time(const Recording& recording, const Observation& seen) {
  std::vector<double> list;
  for (const Slice& slice : recording.slices) {
    if (slice.seconds() <= 0) continue;
    double busy = 0, looks = 0;
    for (const GpuSlice& one : slice.gpus) {
      const std::string& address = recording.gpus[one.gpu].pci_address;
      if (std::none_of(seen.gpus.begin(), seen.gpus.end(),
                       [&](const GpuSummary& reported) { return reported.pci_address == address; }))
        continue;
      busy += one.busy;
      looks += one.looks;
    }
    // A slice between two of the driver's looks has what was before.
    list.push_back(looks > 0 ? busy / looks : list.empty() ? 0 : list.back());
  }
  return list;
}

}  // namespace

ordered_json series_json(const Recording& recording, const Observation& seen) {
  std::vector<double> time, read, storage, written, starving, reading, computing, device, requests, wait, batches;
  WaitsOverTime consumers, workers;
  // Calls that grew say when batches were taken; how many these were was counted over all of the time.
  double calls = 0;
  for (const Slice& slice : recording.slices)
    if (slice.begin_s >= seen.roles.begin_s && slice.end_s <= seen.roles.end_s)
      for (const ProcessSlice& one : slice.processes)
        if (seen.roles.is_consumer(one.process)) calls += static_cast<double>(one.looked_calls);
  const double per_call = calls > 0 ? seen.steps / calls : 0;
  for (const Slice& slice : recording.slices) {
    const double seconds = slice.seconds();
    if (seconds <= 0) continue;
    double bytes = 0, from_storage = 0, write = 0, taken = 0;
    Waits taking, working;
    for (const ProcessSlice& one : slice.processes) {
      bytes += static_cast<double>(one.counted.read_calls_bytes);
      from_storage += static_cast<double>(one.counted.storage_read_bytes);
      write += static_cast<double>(one.counted.write_calls_bytes);
      if (seen.roles.is_consumer(one.process)) {
        taking.add(one.lead);
        taken += static_cast<double>(one.looked_calls);
      }
      if (seen.roles.is_worker(one.process)) working.add(one.lead);
      if (!seen.roles.in_process) continue;
      for (const ThreadSlice& thread : one.threads)
        if (seen.roles.is_thread(thread.thread)) working.add(thread.waits);
    }
    time.push_back(slice.end_s);
    read.push_back(bytes / seconds);
    storage.push_back(from_storage / seconds);
    written.push_back(write / seconds);
    const PartAndWhole starved = headrace::observe::starving(slice, seen.roles);
    starving.push_back(starved.whole > 0 ? starved.part / starved.whole : 0);
    reading.push_back(working.on_storage());
    computing.push_back(working.share(Wait::running));
    consumers.add(taking);
    workers.add(working);
    batches.push_back(taken * per_call / seconds);
    const auto found = slice.devices.find(seen.storage.device);
    const DeviceSlice none, &disk = found == slice.devices.end() ? none : found->second;
    device.push_back(static_cast<double>(disk.read_bytes) / seconds);
    requests.push_back(static_cast<double>(disk.reads) / seconds);
    wait.push_back(disk.reads > 0 ? disk.read_wait_s / static_cast<double>(disk.reads) : 0);
  }
  ordered_json all{{"time_s", time},
                   {"read_bytes_per_s", read},
                   {"storage_bytes_per_s", storage},
                   {"written_bytes_per_s", written},
                   {"waiting_for_loader", starving},
                   {"workers_on_storage", reading},
                   {"workers_running", computing},
                   {"device_bytes_per_s", device},
                   {"device_reads_per_s", requests},
                   {"device_wait_s", wait},
                   {"batches_per_s", batches},
                   {"consumer", consumers.json()},
                   {"workers", workers.json()}};
  for (auto& [name, list] : of_clients(recording))
    if (std::any_of(list.begin(), list.end(), [](double value) { return value > 0; })) all[name] = list;
  if (!seen.gpus.empty()) all["gpu_busy"] = gpus_over_time(recording, seen);
  return all;
}

}  // namespace headrace::observe
