#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/version.h"
#include "harness/observe/observation.h"
#include "harness/observe/sampling/observation_series.h"

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
  // Names and commands may be no UTF-8.
  return all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::observe
