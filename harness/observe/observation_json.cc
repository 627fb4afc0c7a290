#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "harness/base/version.h"
#include "harness/observe/learning/shares.h"
#include "harness/observe/observation.h"
#include "harness/results/fields_codec.h"

namespace headrace {

template <>
struct Fields<observe::calls::CallTimes> {
  using S = observe::calls::CallTimes;
  static constexpr auto all = std::tuple(
      field("read", &S::read), field("open", &S::open), field("mean_in_flight", &S::mean_in_flight),
      field("most_in_flight", &S::most_in_flight), field("part_s", &S::part_s), field("in_flight", &S::in_flight));
};
static_assert(is_complete<observe::calls::CallTimes>());

}  // namespace headrace

namespace headrace::observe {
namespace {

// The observation over time: the data of a page's lines.

using nlohmann::ordered_json;

/// Shares of the looks at the first threads of those that count, by their state.
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

/// The counters of clients of network file systems and of FUSE.
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

/// The mean of the job's GPUs.
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
    // A slice between two of the driver's looks has the value before.
    list.push_back(looks > 0 ? busy / looks : list.empty() ? 0 : list.back());
  }
  return list;
}

/// "series" of observe.json: lists of one value for each slice of time.
ordered_json series_json(const Recording& recording, const Observation& seen) {
  std::vector<double> time, read, storage, written, starving, reading, computing, device, requests, wait, batches;
  WaitsOverTime consumers, workers;
  // Calls that grew show when batches were taken; their number was counted over all of the time.
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

ordered_json shares_json(const std::vector<Share>& shares) {
  ordered_json all = ordered_json::object();
  for (const Share& one : shares) all[one.name] = {{"share", one.value}, {"low", one.low}, {"high", one.high}};
  return all;
}

ordered_json learned_json(const std::vector<Learned>& learned) {
  ordered_json all = ordered_json::array();
  for (const Learned& one : learned) {
    ordered_json entry{
        {"key", one.key}, {"text", one.text}, {"confidence", to_string(one.confidence)}, {"evidence", one.evidence}};
    if (one.dimension != Dimension::text) {
      if (one.known) entry["value"] = one.value;
      entry["low"] = one.low;
      entry["high"] = one.high;
      entry["unit"] = unit_name(one.dimension);
    }
    all.push_back(std::move(entry));
  }
  return all;
}

ordered_json processes_json(const Recording& recording, const Roles& roles) {
  ordered_json all = ordered_json::array();
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    const ProcessSeen& one = recording.processes[i];
    ordered_json entry{{"pid", one.pid},
                       {"name", one.name},
                       {"command", one.command},
                       {"first_s", one.first_s},
                       {"last_s", one.last_s},
                       {"role", roles.is_worker(i) ? "worker" : roles.is_consumer(i) ? "consumer" : "other"}};
    if (one.parent >= 0) entry["parent_pid"] = recording.processes[static_cast<std::size_t>(one.parent)].pid;
    all.push_back(std::move(entry));
  }
  return all;
}

/// The basis of the count of steps.
ordered_json hand_overs_json(const Recording& recording) {
  ordered_json all = ordered_json::array();
  for (const HandOvers& one : recording.hand_overs) {
    ordered_json jumps = ordered_json::array(), by_pause = ordered_json::array();
    for (const auto& [calls, times] : one.jumps) jumps.push_back({calls, times});
    for (const auto& [calls, times] : one.by_pause) by_pause.push_back({calls, times});
    all.push_back(
        {{"pid", recording.processes[one.process].pid}, {"calls_by_look", jumps}, {"calls_by_pause", by_pause}});
  }
  return all;
}

/// The files that threads were found at most often.
ordered_json files_json(const Recording& recording) {
  constexpr std::size_t kMost = 100;
  std::vector<const FileSeen*> sorted;
  for (const FileSeen& one : recording.files) sorted.push_back(&one);
  const auto looks = [](const FileSeen* one) { return one->read + one->named + one->written + one->open; };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const FileSeen* a, const FileSeen* b) { return looks(a) > looks(b); });
  ordered_json all = ordered_json::array();
  for (std::size_t i = 0; i < std::min(kMost, sorted.size()); ++i)
    all.push_back({{"path", sorted[i]->path},
                   {"read", sorted[i]->read},
                   {"named", sorted[i]->named},
                   {"written", sorted[i]->written},
                   {"open", sorted[i]->open}});
  return all;
}

ordered_json storage_json(const StorageSeen& s) {
  ordered_json all{{"device", s.device},
                   {"read_bytes_per_s", s.read_rate},
                   {"reads_per_s", s.requests},
                   {"request_bytes", s.request_bytes},
                   {"wait_s", s.wait_s},
                   {"busy", s.busy},
                   {"queue", s.queue},
                   {"written_bytes_per_s", s.write_rate},
                   {"waiting_workers", s.waiting_threads}};
  if (s.client) {
    const ClientSeen& c = *s.client;
    ordered_json& client = all["client"] = {{"read_bytes_per_s", c.read_rate}};
    if (c.reads > 0)
      client.update({{"reads_per_s", c.reads},
                     {"read_s", c.took_s},
                     {"queue_s", c.queue_s},
                     {"round_trip_s", c.round_trip_s},
                     {"in_flight", c.in_flight},
                     {"waiting", c.waiting}});
    if (c.at_daemon) client["at_daemon"] = *c.at_daemon;
  }
  if (s.limit_bytes) all["limit_bytes_per_s"] = *s.limit_bytes;
  if (s.limit_requests) all["limit_reads_per_s"] = *s.limit_requests;
  return all;
}

ordered_json gpus_json(const std::vector<GpuSummary>& gpus) {
  ordered_json all = ordered_json::array();
  for (const GpuSummary& one : gpus) {
    ordered_json gpu{
        {"pci_address", one.pci_address}, {"name", one.name}, {"memory_bytes", one.memory}, {"shared", one.shared}};
    if (one.busy_known) gpu["busy"] = {{"share", one.busy.value}, {"low", one.busy.low}, {"high", one.busy.high}};
    if (one.memory_busy) gpu["memory_busy"] = *one.memory_busy;
    if (one.own_busy) gpu["own_busy"] = *one.own_busy;
    all.push_back(std::move(gpu));
  }
  return all;
}

ordered_json nccl_json(const NcclSummary& reported) {
  ordered_json behind = ordered_json::array();
  for (const RankBehind& one : reported.behind)
    behind.push_back({{"rank", one.rank},
                      {"size", one.size},
                      {"host", one.host},
                      {"pid", one.pid},
                      {"own", one.own},
                      {"lag", to_string(one.lag)},
                      {"seconds", one.seconds},
                      {"share", one.share},
                      {"sentence", one.sentence}});
  return {{"address", reported.address},     {"version", reported.version},
          {"answers", reported.answers},     {"communicators", reported.communicators},
          {"processes", reported.processes}, {"behind", std::move(behind)}};
}

}  // namespace

std::string observation_json(const Recording& recording, const Observation& seen,
                             const std::vector<std::string>& command) {
  ordered_json saves = ordered_json::array();
  for (const SaveSeen& one : recording.saves)
    saves.push_back({{"begin_s", one.begin_s},
                     {"end_s", one.end_s},
                     {"bytes", one.bytes},
                     {"path", one.path},
                     {"lead_bytes", one.lead_bytes},
                     {"lead_held", one.lead_held_share},
                     {"pid", recording.processes[one.process].pid}});
  ordered_json all{
      {"schema", kObservationSchema},
      {"kind", kObservationKind},
      {"headrace", {{"version", kVersion}, {"revision", kRevision}}},
      {"command", command},
      {"elapsed_s", recording.elapsed_s},
      {"looked",
       {{"per_s", recording.samples_per_s},
        {"cpu_share", recording.elapsed_s > 0 ? recording.sampler_cpu_s / recording.elapsed_s : 0},
        {"most_processes", recording.most_processes}}},
      {"batches",
       {{"begin_s", seen.roles.begin_s},
        {"end_s", seen.roles.end_s},
        {"steps", seen.steps},
        {"samples_per_s", seen.samples_per_s}}},
      {"limit",
       {{"id", seen.limit.id},
        {"sentence", seen.limit.sentence},
        {"proof", seen.limit.proof},
        {"advice", seen.limit.advice},
        {"command", seen.limit.command}}},
      {"consumer", shares_json(seen.consumer)},
      {"workers", shares_json(seen.workers)},
      {"standing_still",
       {{"share", seen.standing_still.value}, {"low", seen.standing_still.low}, {"high", seen.standing_still.high}}},
      {"storage", storage_json(seen.storage)},
      {"gpus", gpus_json(seen.gpus)},
      {"nccl", nccl_json(seen.nccl)},
      {"idle_cpus", seen.idle_cpus},
      {"throttled", seen.throttled},
      {"learned", learned_json(seen.learned)},
      {"data",
       {{"folder", seen.data.folder},
        {"files", seen.data.files},
        {"folders", seen.data.folders},
        {"bytes", seen.data.bytes},
        {"complete", seen.data.complete},
        {"seen", seen.data.seen},
        {"file_system", seen.data.file_system}}},
      {"hand_overs", hand_overs_json(recording)},
      {"files", files_json(recording)},
      {"saves", std::move(saves)},
      {"processes", processes_json(recording, seen.roles)},
      {"notes", seen.notes},
      {"series", series_json(recording, seen)}};
  if (seen.calls) all["calls"] = results::encoded(*seen.calls);
  // Names and commands may be no UTF-8.
  return all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::observe
