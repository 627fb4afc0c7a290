#include "harness/observe/limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/units.h"
#include "harness/observe/gpus.h"
#include "harness/observe/shares.h"

namespace headrace::observe {
namespace {

constexpr std::size_t kFewestSlices = 4;
constexpr double kStarving = 0.1;  // of the time: less is no starvation
constexpr double kWorthTelling = 0.005;
constexpr double kSaving = 0.05;            // of the time, lost to saves alone, where data is there else
constexpr double kSmallRequest = 64 << 10;  // [B]
constexpr double kAtLimit = 0.85;           // of what a control group lets through
constexpr double kThrottled = 0.05;         // processor seconds withheld per second
constexpr double kFreeProcessor = 0.5;
constexpr double kSomeWait = 0.5;  // requests, on average
constexpr double kBefore = 0.5;    // of a request's time: more is spent before it is sent
constexpr double kGpuBusy = 0.9, kGpuFree = 0.5;
constexpr double kMostlyOnStorage = 0.6;  // else the slice says little of what storage could give

std::string percent(const Share& share) {
  return fmt::format("{:.0f} % [{:.0f}, {:.0f}]", share.value * 100, share.low * 100, share.high * 100);
}

double seconds_between(double a_begin, double a_end, double b_begin, double b_end) {
  return std::max(0.0, std::min(a_end, b_end) - std::max(a_begin, b_begin));
}

/// How much the loader was waited for while a checkpoint was written, and while none was.
struct AroundSaves {
  Share within, without;
  double saving = 0;  // share of the time
};

AroundSaves around_saves(const Recording& recording, const std::vector<const Slice*>& slices, const Roles& roles) {
  std::vector<const Slice*> within, without;
  double saving = 0, all = 0;
  for (const Slice* slice : slices) {
    double covered = 0;
    for (const SaveSeen& save : recording.saves)
      covered += seconds_between(slice->begin_s, slice->end_s, save.begin_s, save.end_s);
    saving += covered;
    all += slice->seconds();
    (covered * 2 > slice->seconds() ? within : without).push_back(slice);
  }
  const auto of = [&roles](const Slice& slice) { return starving(slice, roles); };
  return {.within = share_over(within, "within", of),
          .without = share_over(without, "without", of),
          .saving = all > 0 ? saving / all : 0};
}

/// What the client of a network file system, or of FUSE, counted.
void tell_client(const ClientSeen& client, std::vector<std::string>& proof) {
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

Limit storage_limit(const std::vector<const Slice*>& slices, const Observation& seen) {
  const StorageSeen& s = seen.storage;
  const double reading = value_of(seen.workers, "reading") + value_of(seen.workers, "faults"),
               opening = value_of(seen.workers, "opening");
  Limit limit;
  const std::string own = seen.data.folder.empty() ? "" : " --data '" + seen.data.folder + "'";
  const std::string at = s.device.empty()
                             ? seen.data.file_system.empty() ? "storage" : "storage (" + seen.data.file_system + ")"
                             : "device " + s.device;
  limit.command = "headrace qualify job.yaml" + own;
  const std::string rates = fmt::format(
      "{} gave {} in {} of {} on average; each took {}, {:.0f} % of the time it had some to do", at,
      format_quantity(s.read_rate, Dimension::bytes_per_second), format_quantity(s.requests, Dimension::per_second),
      format_quantity(s.request_bytes, Dimension::bytes), format_quantity(s.wait_s, Dimension::seconds), s.busy * 100);
  if (!s.device.empty() && s.requests > 0) limit.proof.push_back(rates);
  if (s.client) tell_client(*s.client, limit.proof);
  // Opens wait for the same slots.
  if (s.client && s.client->reads > 0 && s.client->queue_s > kBefore * s.client->took_s) {
    limit.id = "nfs_slots";
    limit.sentence = fmt::format("The NFS client limits: of the {} that a read takes, {} go by before it is sent",
                                 format_quantity(s.client->took_s, Dimension::seconds),
                                 format_quantity(s.client->queue_s, Dimension::seconds));
    // What waits for a slot of its session, as of NFSv4.1 and later, has not come as far as the connection's.
    if (s.client->waiting < kSomeWait) {
      limit.proof.push_back("none waited for the connection: they wait for a slot of their session before");
      limit.advice = {
          "more slots of a session, set before the mount (max_session_slots of the module nfs); the server may grant "
          "fewer (headrace doctor on the mount tells which limits)"};
    } else {
      limit.advice = {
          "more requests at a time, set before the mount: slots (tcp_max_slot_table_entries) or connections (nconnect; "
          "headrace doctor on the mount tells which limits)"};
    }
    limit.advice.push_back("fewer and larger reads: shards instead of files");
    return limit;
  }
  if (opening >= reading) {
    limit.id = "slow_opens";
    limit.sentence = "Opening files limits: workers wait for names and attributes more than for bytes";
    limit.advice = {
        "pack the samples into shards: fewer opens (headrace pack DIR --to SHARDS --rehearse tells the gain)",
        "more workers: more opens at a time (headrace rehearse job.yaml --tune)",
        "a file system, or a metadata server, that opens faster"};
    return limit;
  }
  const auto reached = [&](std::optional<double> most, double now) { return most && now >= kAtLimit * *most; };
  if (reached(s.limit_bytes, s.read_rate) || reached(s.limit_requests, s.requests)) {
    const bool bytes = reached(s.limit_bytes, s.read_rate);
    limit.id = "cgroup_io";
    limit.sentence = fmt::format("The control group limits: it lets {} through to {}",
                                 bytes ? format_quantity(*s.limit_bytes, Dimension::bytes_per_second)
                                       : format_quantity(*s.limit_requests, Dimension::per_second) + " reads",
                                 at);
    limit.proof.push_back(
        bytes ? fmt::format("{} of them were used", format_quantity(s.read_rate, Dimension::bytes_per_second))
              : fmt::format("{} of them were used", format_quantity(s.requests, Dimension::per_second)));
    limit.advice = {"a higher limit for the container or job (io.max, blkio.throttle)",
                    "larger requests, where their number limits"};
    return limit;
  }
  if (s.device.empty() || s.requests <= 0) {
    limit.id = "storage_latency";
    limit.sentence = fmt::format("Reads from {} limit: workers wait for them; what is below counts nothing here", at);
    limit.advice = {"more workers, more reads at a time (headrace rehearse job.yaml --tune)", "larger reads, or shards",
                    "storage that answers faster"};
    return limit;
  }
  std::string why;
  const Scarce scarce = scarce_of(slices, s, why);
  limit.id = scarce == Scarce::bytes ? "storage_bandwidth" : "storage_requests";
  limit.sentence = scarce == Scarce::bytes
                       ? fmt::format("Storage limits by its bandwidth: {} is all that {} gives",
                                     format_quantity(s.read_rate, Dimension::bytes_per_second), at)
                       : fmt::format("Storage limits by its requests: {} is all that {} answers, of {} each",
                                     format_quantity(s.requests, Dimension::per_second), at,
                                     format_quantity(s.request_bytes, Dimension::bytes));
  limit.proof.push_back(why);
  if (s.queue < 0.5 * s.waiting_threads)
    limit.proof.push_back(
        fmt::format("{:.1f} workers waited, and {:.1f} requests were at the device: most of the wait is before it, "
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

Limit processor_limit(const Observation& seen, double cpu, double queued, bool machine_seen) {
  Limit limit;
  limit.command = "headrace rehearse job.yaml --tune";
  if (!machine_seen) {
    limit.id = "workers";
    limit.sentence =
        "The loader's workers limit: each computes all the time; whether processors were free is not in the trace";
    limit.advice = {"cheaper decoding", "more workers, where processors are free (headrace rehearse job.yaml --tune)"};
    return limit;
  }
  const bool used_up = seen.quota_cpus && seen.used_cpus >= kAtLimit * *seen.quota_cpus;
  if (seen.throttled >= kThrottled || used_up) {
    limit.id = "cgroup_cpu";
    limit.sentence = "The control group's quota of processor time limits";
    limit.proof.push_back(
        fmt::format("{:.2f} processor seconds were withheld each second, {:.2f} used{}", seen.throttled, seen.used_cpus,
                    seen.quota_cpus ? fmt::format(" of {:.2f} that are let through", *seen.quota_cpus) : ""));
    limit.advice = {"a higher CPU quota for the container or job (cpu.max)", "smaller images, or cheaper decoding"};
    return limit;
  }
  limit.proof.push_back(fmt::format("{:.1f} processors had nothing to do", seen.idle_cpus));
  if (seen.idle_cpus < kFreeProcessor || queued > 0.25 * (cpu + queued)) {
    limit.id = "processor";
    limit.sentence = "Processors limit: workers decode, or wait for a free one";
    limit.advice = {"cheaper decoding: smaller images, another library, decoding on the GPU",
                    "fewer other programs on this machine", "more cores for each GPU"};
  } else {
    limit.id = "workers";
    limit.sentence = "The loader's workers limit: each computes all the time, while processors are free";
    limit.advice = {"more workers (headrace rehearse job.yaml --tune tells how many)", "cheaper decoding"};
  }
  return limit;
}

/// "the main thread waited for data 12 % [5, 18] of the time, and 6 % [3, 8] for a processor; ...".
std::string starving_text(const Share& waiting, const Share& queued) {
  std::string text = fmt::format("the main thread waited for data {} of the time", percent(waiting));
  if (queued.value >= kWorthTelling) text += fmt::format(", and {} for a processor", percent(queued));
  const double low = waiting.low + queued.low, high = waiting.high + queued.high;
  if (low < kStarving && high >= kStarving)
    text +=
        fmt::format("; whether that is more than {:.0f} % cannot be told: it may be {} that limits", kStarving * 100,
                    waiting.value + queued.value < kStarving ? "what is waited for" : "training itself");
  return text;
}

/// "its GPU was busy 34 % [30, 38] of the time".
std::string gpus_text(const Observation& seen, const Share& busy) {
  return fmt::format("{} busy {} of the time{}",
                     seen.gpus.size() == 1 ? "its GPU was" : fmt::format("its {} GPUs were", seen.gpus.size()),
                     percent(busy), seen.gpus.size() == 1 ? "" : " on average; waiting for each other counts as busy");
}

Limit consumer_limit(const Observation& seen, bool waits) {
  Limit limit{.id = "consumer",
              .sentence = "Training itself limits: data is there when it is asked for",
              .advice = {"nothing of storage or loader: a faster step, or more GPUs, which then need more data "
                         "(headrace require job.yaml --set cluster.gpus_per_node=N)"},
              .command = "headrace rehearse job.yaml"};
  const std::optional<Share> busy = gpus_busy(seen);
  if (waits) {
    limit.sentence = "Training itself limits: its GPU computes while the main thread waits for data";
  } else if (busy && busy->high < kGpuFree) {
    limit.sentence = "Training itself limits, and not its GPUs: what the main thread does between batches";
    limit.advice = {
        "less of it: fewer small kernels (CUDA graphs, torch.compile), no waiting for single values, less logging",
        "a larger batch, where memory allows", "nothing of storage or loader"};
  }
  return limit;
}

/// Of the looks at all processes but those that wait for others.
double on_storage(const Slice& slice) {
  double stored = 0, all = 0;
  for (const ProcessSlice& one : slice.processes)
    for (std::size_t w = 0; w < kWaits; ++w) {
      const auto wait = static_cast<Wait>(w);
      if (wait == Wait::hand_over || wait == Wait::sleep) continue;
      all += one.lead[w];
      stored += is_storage(wait) ? one.lead[w] : 0;
    }
  return all > 0 ? stored / all : 0;
}

}  // namespace

Scarce scarce_of(const std::vector<const Slice*>& slices, const StorageSeen& storage, std::string& why) {
  Pace pace;
  for (const Slice* slice : slices)
    if (const auto device = slice->devices.find(storage.device);
        device != slice->devices.end() && on_storage(*slice) > kMostlyOnStorage)
      add_pace(pace, device->second.pace);
  const std::optional<PaceShares> shares = pace_shares(pace);
  if (shares) {
    why = fmt::format(
        "of the time between its answers, {:.0f} % [{:.0f}, {:.0f}] goes with their bytes, the rest with their number "
        "({:.0f} groups of requests)",
        shares->bytes * 100, shares->low * 100, shares->high * 100, pace.groups);
    if (shares->low > 0.5) return Scarce::bytes;
    if (shares->high < 0.5) return Scarce::requests;
    why += "; ";
  }
  const bool small = storage.request_bytes <= kSmallRequest;
  why += fmt::format(
      "bytes and requests cannot be told apart by that{}; by the size of a request, {} and {} than 64 KiB, it is {}; "
      "requests of several sizes would prove it",
      shares ? "" : ", for all requests are alike or few", format_quantity(storage.request_bytes, Dimension::bytes),
      small ? "no more" : "more", small ? "their number" : "bytes");
  return small ? Scarce::requests : Scarce::bytes;
}

Limit find_limit(const Recording& recording, const std::vector<const Slice*>& slices, const Observation& seen) {
  Limit limit;
  if (seen.roles.consumers.empty()) {
    limit.id = "unknown";
    limit.sentence = "What limits cannot be told: nobody was seen taking batches";
    limit.advice = {"watch for longer"};
    return limit;
  }
  if (slices.size() < kFewestSlices) {
    double seconds = 0;
    for (const Slice* slice : slices) seconds += slice->seconds();
    limit.id = "unknown";
    limit.sentence = fmt::format(
        "What limits cannot be told: batches were taken for {} after the first ones, and {} of the {} parts of that "
        "time were seen from which bounds follow",
        format_duration(seconds), slices.size(), kFewestSlices);
    limit.advice = {"watch for longer"};
    return limit;
  }
  if (!recording.waits_known) {
    limit.id = "unknown";
    limit.sentence =
        "What limits cannot be told from this trace: what threads did between their calls on files is not in it";
    if (!seen.workers.empty())
      limit.proof = {
          fmt::format("workers spent at least {:.0f} % of the time in reads and {:.0f} % in opens and attributes",
                      value_of(seen.workers, "reading") * 100, value_of(seen.workers, "opening") * 100)};
    limit.advice = {"watch the job itself (headrace observe --pid), or trace all its calls (strace -f -ttt -T -y)"};
    return limit;
  }
  const Share* waiting = share_named(seen.consumer, seen.roles.in_process ? "reading" : "waiting_for_loader");
  const AroundSaves saves = around_saves(recording, slices, seen.roles);
  const Share& still = seen.standing_still;
  Share queued_lead = *share_named(seen.training, "queued");
  for (double* one : {&queued_lead.value, &queued_lead.low, &queued_lead.high}) *one *= 1 - still.value;
  // One that gets no processor can take no batch and start no step: what is lost by that, processors limit.
  const double starved = waiting->value + queued_lead.value;
  const std::string waited = starving_text(*waiting, queued_lead);
  const std::optional<Share> busy = gpus_busy(seen), alone = lone_gpu_busy(seen);
  const auto with = [&](Limit found) {
    found.proof.insert(found.proof.begin(), waited);
    if (busy) found.proof.push_back(gpus_text(seen, *busy));
    return found;
  };
  const double starved_in_saves = saves.within.value * saves.saving,
               starved_out = saves.without.value * (1 - saves.saving);
  const bool interfere = !recording.saves.empty() && saves.saving < 0.9 && saves.within.low > saves.without.value &&
                         saves.within.value > 2 * saves.without.value &&
                         (starved_in_saves > starved_out || saves.without.value < kStarving);
  const double lost = still.value + (interfere ? starved_in_saves : 0);
  if ((interfere || starved < kStarving) && lost >= kSaving) {
    if (still.value > starved_in_saves)
      limit = {.id = "checkpoint_stall",
               .sentence = "Checkpoints limit: training stands still while they are written",
               .proof = {fmt::format("training stood still for saves {} of the time", percent(still))},
               .advice = {"fewer saves, or asynchronous ones", "faster storage for checkpoints"},
               .command = "headrace qualify job.yaml"};
    else
      limit = {
          .id = "checkpoint_interference",
          .sentence = "Checkpoints limit: while one is written, reads are too slow",
          .proof = {fmt::format("the main thread waited for data {} of the time while a checkpoint was written, and {} "
                                "while none was; one was written {:.0f} % of the time",
                                percent(saves.within), percent(saves.without), saves.saving * 100)},
          .advice = {"write checkpoints to other storage than the data set's", "write them more slowly, or less often",
                     "storage that gives both at once"},
          .command = "headrace qualify job.yaml"};
    return with(limit);
  }
  if (starved < kStarving) return with(consumer_limit(seen, false));
  // Kernels that were queued before run on: nothing starves.
  if (alone && alone->low >= kGpuBusy) return with(consumer_limit(seen, true));
  if (waiting->value < queued_lead.value) return with(processor_limit(seen, 0, queued_lead.value, true));
  if (seen.roles.in_process) return with(storage_limit(slices, seen));
  const double storage = value_of(seen.workers, "reading") + value_of(seen.workers, "opening") +
                         value_of(seen.workers, "faults") + value_of(seen.workers, "writing");
  const double cpu = value_of(seen.workers, "processor"), queued = value_of(seen.workers, "queued");
  if (storage + cpu + queued < 0.2) {
    limit = {.id = "hand_over",
             .sentence =
                 "What limits lies between workers and training: both wait for each other, as where batches come in an "
                 "order "
                 "that one slow worker holds up, or are copied by one thread",
             .advice = {"larger prefetch_factor", "no copies through pipes: shared memory, fewer and larger batches"},
             .command = "headrace rehearse job.yaml"};
    return with(limit);
  }
  limit = storage >= cpu + queued ? storage_limit(slices, seen)
                                  : processor_limit(seen, cpu, queued, recording.machine_seen);
  limit.proof.insert(
      limit.proof.begin(),
      fmt::format("workers spent {:.0f} % of the time on storage, {:.0f} % on a processor, {:.0f} % ready without one, "
                  "{:.0f} % waiting for whoever takes their batches",
                  storage * 100, cpu * 100, queued * 100, value_of(seen.workers, "consumer") * 100));
  return with(limit);
}

}  // namespace headrace::observe
