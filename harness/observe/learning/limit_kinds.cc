#include "harness/observe/learning/limit_kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/escape.h"
#include "harness/base/units.h"
#include "harness/observe/learning/limit.h"

namespace headrace::observe {
namespace {

constexpr double kSmallRequest = 64 << 10;  // [B]
constexpr double kAtLimit = 0.85;           // of a control group's limit
constexpr double kGoodShare = 0.5;          // of a device's reads: less was the job's, and others decide
constexpr double kThrottled = 0.05;         // processor seconds withheld per second
constexpr double kSomeWait = 0.5;           // requests, on average
constexpr double kBefore = 0.5;             // of a request's time: more is spent before it is sent
constexpr double kMostlyOnStorage = 0.6;    // else the slice does not show storage's possible rate

/// The counters of a network file system's client, or of FUSE.
void report_client(const ClientSeen& client, std::vector<std::string>& proof) {
  if (client.reads > 0)
    proof.push_back(fmt::format(
        "the NFS client sent {} for {}; each took {}, {} of it before it was sent and {} until the server's "
        "answer; {:.1f} requests were under way, and {:.1f} waited for their connection",
        format_quantity(client.reads, Dimension::per_second) + " READs",
        format_quantity(client.read_rate, Dimension::bytes_per_second),
        format_quantity(client.took_s, Dimension::seconds), format_quantity(client.queue_s, Dimension::seconds),
        format_quantity(client.round_trip_s, Dimension::seconds), client.in_flight, client.waiting));
  else if (client.read_rate > 0)
    proof.push_back(
        fmt::format("its client got {} from servers", format_quantity(client.read_rate, Dimension::bytes_per_second)));
  if (client.at_daemon)
    proof.push_back(
        fmt::format("the file system's daemon (FUSE) had {:.1f} requests to answer on average", *client.at_daemon));
}

/// The looks at all processes except those that wait for others.
double on_storage(const Slice& slice) {
  double stored = 0, all = 0;
  for (const ProcessSlice& one : slice.processes) {
    all += total(one.lead) - of(one.lead, Wait::hand_over) - of(one.lead, Wait::sleep);
    for (const Wait wait : {Wait::read, Wait::name, Wait::write, Wait::fault}) stored += of(one.lead, wait);
  }
  return ratio(stored, all);
}

}  // namespace

std::string Makers::wait() const { return who + (one ? " waits" : " wait"); }
std::string Makers::more() const { return one ? "worker processes (num_workers)" : "more " + who; }

Limit storage_limit(const std::vector<const Slice*>& slices, const Observation& seen, const Makers& makers) {
  const StorageSeen& s = seen.storage;
  const double reading = value_of(makers.shares, "reading") + value_of(makers.shares, "faults"),
               opening = value_of(makers.shares, "opening");
  Limit limit;
  const std::string own = seen.data.folder.empty() ? "" : " --data " + shell_word(seen.data.folder);
  const std::string at = s.device.empty()
                             ? seen.data.file_system.empty() ? "storage" : "storage (" + seen.data.file_system + ")"
                             : "device " + s.device;
  limit.command = "headrace qualify job.yaml" + own;
  const std::string tune = "headrace rehearse job.yaml" + own + " --tune";
  const std::string rates = fmt::format(
      "{} gave {} in {} of {} on average; each took {}, {:.0f} % of the time it had some to do", at,
      format_quantity(s.read_rate, Dimension::bytes_per_second), format_quantity(s.requests, Dimension::per_second),
      format_quantity(s.request_bytes, Dimension::bytes), format_quantity(s.wait_s, Dimension::seconds), s.busy * 100);
  const bool counted = !s.device.empty() && s.requests > 0;
  if (counted) limit.proof.push_back(rates);
  if (s.client) report_client(*s.client, limit.proof);
  // Opens wait for the same slots.
  if (s.client && s.client->reads > 0 && s.client->queue_s > kBefore * s.client->took_s) {
    limit.id = "nfs_slots";
    limit.sentence = fmt::format("The NFS client is the limit: a read takes {}, and {} of that pass before it is sent",
                                 format_quantity(s.client->took_s, Dimension::seconds),
                                 format_quantity(s.client->queue_s, Dimension::seconds));
    // A request that waits for a slot of its session (NFSv4.1 and later) has not reached the connection's queue.
    if (s.client->waiting < kSomeWait) {
      limit.proof.push_back("none waited for the connection: they wait for a slot of their session before");
      limit.advice = {
          "more slots of a session, set before the mount (max_session_slots of the module nfs); the server may grant "
          "fewer (headrace doctor on the mount shows which one limits)"};
    } else {
      limit.advice = {
          "more requests at a time, set before the mount: slots (tcp_max_slot_table_entries) or connections (nconnect; "
          "headrace doctor on the mount shows which one limits)"};
    }
    limit.advice.push_back("fewer and larger reads: shards instead of files");
    return limit;
  }
  if (opening > reading) {
    limit.id = "slow_opens";
    limit.sentence =
        fmt::format("Opening files is the limit: {} for names and attributes longer than for bytes", makers.wait());
    limit.advice = {
        makers.more() + ": more opens at a time (headrace rehearse job.yaml --tune)",
        "pack the samples into shards: fewer opens (headrace pack DIR --to SHARDS --rehearse measures the gain)",
        "a file system, or a metadata server, that opens faster"};
    limit.command = tune;
    return limit;
  }
  // Other processes' reads of the device are not the job's.
  const double of_job = std::min(1.0, ratio(s.own_rate.value_or(0), s.read_rate));
  const auto reached = [&](std::optional<double> most, double now) { return most && now * of_job >= kAtLimit * *most; };
  if (reached(s.limit_bytes, s.read_rate) || reached(s.limit_requests, s.requests)) {
    const bool bytes = reached(s.limit_bytes, s.read_rate);
    limit.id = "cgroup_io";
    limit.sentence = fmt::format("The control group is the limit: it lets {} through to {}",
                                 bytes ? format_quantity(*s.limit_bytes, Dimension::bytes_per_second)
                                       : format_quantity(*s.limit_requests, Dimension::per_second) + " reads",
                                 at);
    limit.proof.push_back(
        bytes ? fmt::format("{} of them were used", format_quantity(s.read_rate * of_job, Dimension::bytes_per_second))
              : fmt::format("{} of them were used", format_quantity(s.requests * of_job, Dimension::per_second)));
    limit.advice = {"a higher limit for the container or job (io.max, blkio.throttle)",
                    "larger requests, where their number limits"};
    return limit;
  }
  if (!counted || of_job < kGoodShare) {
    limit.id = "storage_latency";
    limit.sentence = fmt::format("Reads from {} are the limit: {} for them", at, makers.wait());
    limit.command = tune;
    if (!counted) limit.proof.emplace_back("the device below has no counters here");
    if (counted)
      limit.proof.push_back(s.own_rate ? fmt::format("the job read {} of the {} that {} gave",
                                                     format_quantity(*s.own_rate, Dimension::bytes_per_second),
                                                     format_quantity(s.read_rate, Dimension::bytes_per_second), at)
                                       : "how much of that the job read may not be asked");
    limit.advice = {makers.more() + ": more reads at a time (headrace rehearse job.yaml --tune)",
                    "larger reads, or shards", "storage that answers faster"};
    return limit;
  }
  std::string why;
  const Scarce scarce = scarce_of(slices, s, why);
  limit.id = scarce == Scarce::bytes ? "storage_bandwidth" : "storage_requests";
  limit.sentence = scarce == Scarce::bytes
                       ? fmt::format("Storage bandwidth is the limit: {} is the most that {} gives",
                                     format_quantity(s.read_rate, Dimension::bytes_per_second), at)
                       : fmt::format("Storage requests are the limit: {} is the most that {} answers, of {} each",
                                     format_quantity(s.requests, Dimension::per_second), at,
                                     format_quantity(s.request_bytes, Dimension::bytes));
  limit.proof.push_back(why);
  if (s.queue < 0.5 * s.waiting_threads)
    limit.proof.push_back(
        fmt::format("{:.1f} readers waited, and {:.1f} requests were at the device: most of the wait is before it, "
                    "in a throttle or the file system",
                    s.waiting_threads, s.queue));
  if (scarce == Scarce::bytes)
    limit.advice = {"smaller samples, or a cache that holds the data set",
                    "faster storage, or more of it (headrace size job.yaml)"};
  else
    limit.advice = {"larger requests: shards instead of files (headrace pack DIR --to SHARDS --rehearse)",
                    "read-ahead, where samples lie behind each other",
                    "storage that answers more requests (headrace size job.yaml)"};
  return limit;
}

Limit processor_limit(const Observation& seen, double cpu, double queued, bool machine_seen, const Makers& makers) {
  Limit limit;
  limit.command = "headrace rehearse job.yaml --tune";
  if (!machine_seen) {
    limit.id = "workers";
    limit.sentence = fmt::format(
        "The loader's {} are the limit: each computes all the time; the trace does not show whether processors were "
        "free",
        makers.who);
    limit.advice = {"cheaper decoding",
                    makers.more() + ", where processors are free (headrace rehearse job.yaml --tune)"};
    return limit;
  }
  const bool used_up = seen.quota_cpus && seen.used_cpus >= kAtLimit * *seen.quota_cpus;
  if (seen.throttled >= kThrottled || used_up) {
    limit.id = "cgroup_cpu";
    limit.sentence = "The control group's quota of processor time is the limit";
    limit.proof.push_back(
        fmt::format("{:.2f} processor seconds were withheld each second, {:.2f} used{}", seen.throttled, seen.used_cpus,
                    seen.quota_cpus ? fmt::format(" of {:.2f} that are let through", *seen.quota_cpus) : ""));
    limit.advice = {"a higher CPU quota for the container or job (cpu.max)", "smaller images, or cheaper decoding"};
    return limit;
  }
  limit.proof.push_back(fmt::format("{:.1f} processors had nothing to do", seen.idle_cpus));
  if (seen.idle_cpus < kFreeProcessor || queued > 0.25 * (cpu + queued)) {
    limit.id = "processor";
    limit.sentence = fmt::format("Processors are the limit: {} or wait for a free one",
                                 makers.one ? makers.who + " decodes," : makers.who + " decode,");
    limit.advice = {"cheaper decoding: smaller images, another library, decoding on the GPU",
                    "fewer other programs on this machine", "more cores for each GPU"};
  } else {
    limit.id = "workers";
    limit.sentence =
        fmt::format("The loader's {} are the limit: each computes all the time, while processors are free", makers.who);
    limit.advice = {makers.more() + " (headrace rehearse job.yaml --tune finds how many)", "cheaper decoding"};
  }
  return limit;
}

Scarce scarce_of(const std::vector<const Slice*>& slices, const StorageSeen& storage, std::string& why) {
  Pace pace;
  for (const Slice* slice : slices)
    if (const auto device = slice->devices.find(storage.device);
        device != slice->devices.end() && on_storage(*slice) > kMostlyOnStorage)
      add_pace(pace, device->second.pace);
  const std::optional<PaceShares> shares = pace_shares(pace);
  if (shares) {
    why = fmt::format(
        "{:.0f} % [{:.0f}, {:.0f}] of the service time depends on bytes, the rest on the number of requests ({:.0f} "
        "groups of requests)",
        shares->bytes * 100, shares->low * 100, shares->high * 100, pace.groups);
    if (shares->low > 0.5) return Scarce::bytes;
    if (shares->high < 0.5) return Scarce::requests;
    why += "; ";
  }
  const bool small = storage.request_bytes <= kSmallRequest;
  why += fmt::format(
      "that does not separate bytes from requests{}; by the size of a request, {} and {} than 64 KiB, it is {}; "
      "requests of several sizes would prove it",
      shares ? "" : ", for all requests are alike or few", format_quantity(storage.request_bytes, Dimension::bytes),
      small ? "no more" : "more", small ? "their number" : "bytes");
  return small ? Scarce::requests : Scarce::bytes;
}

}  // namespace headrace::observe
