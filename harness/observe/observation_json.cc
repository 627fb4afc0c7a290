#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/version.h"
#include "harness/observe/observation.h"

namespace headrace::observe {
namespace {

using nlohmann::ordered_json;

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
      entry["value"] = one.value;
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

/// What steps are counted by.
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

/// What a line over time is drawn from.
ordered_json series_json(const Recording& recording, const Observation& seen) {
  ordered_json time = ordered_json::array(), read = ordered_json::array(), storage = ordered_json::array(),
               written = ordered_json::array(), starving = ordered_json::array(), reading = ordered_json::array(),
               computing = ordered_json::array();
  for (const Slice& slice : recording.slices) {
    if (slice.seconds() <= 0) continue;
    double bytes = 0, from_storage = 0, write = 0, looks = 0, waits = 0, worker_looks = 0, worker_reads = 0,
           worker_runs = 0;
    for (const ProcessSlice& one : slice.processes) {
      bytes += static_cast<double>(one.counted.read_calls_bytes);
      from_storage += static_cast<double>(one.counted.storage_read_bytes);
      write += static_cast<double>(one.counted.write_calls_bytes);
      for (std::size_t w = 0; w < kWaits; ++w) {
        const bool stored = is_storage(static_cast<Wait>(w));
        if (seen.roles.is_consumer(one.process)) looks += one.lead[w];
        if (seen.roles.is_worker(one.process)) {
          worker_looks += one.lead[w];
          worker_reads += stored ? one.lead[w] : 0;
          worker_runs += static_cast<Wait>(w) == Wait::running ? one.lead[w] : 0;
        }
      }
      if (seen.roles.is_consumer(one.process)) waits += one.lead[static_cast<std::size_t>(Wait::hand_over)];
    }
    time.push_back(slice.end_s);
    read.push_back(bytes / slice.seconds());
    storage.push_back(from_storage / slice.seconds());
    written.push_back(write / slice.seconds());
    starving.push_back(looks > 0 ? waits / looks : 0);
    reading.push_back(worker_looks > 0 ? worker_reads / worker_looks : 0);
    computing.push_back(worker_looks > 0 ? worker_runs / worker_looks : 0);
  }
  return {{"time_s", time},
          {"read_bytes_per_s", read},
          {"storage_bytes_per_s", storage},
          {"written_bytes_per_s", written},
          {"waiting_for_loader", starving},
          {"workers_on_storage", reading},
          {"workers_running", computing}};
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
  if (s.limit_bytes) all["limit_bytes_per_s"] = *s.limit_bytes;
  if (s.limit_requests) all["limit_reads_per_s"] = *s.limit_requests;
  return all;
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
      {"schema", 1},
      {"kind", "headrace.observation"},
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
  // Names and commands may be no UTF-8.
  return all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::observe
