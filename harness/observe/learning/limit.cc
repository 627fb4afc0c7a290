#include "harness/observe/learning/limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/units.h"
#include "harness/observe/learning/limit_kinds.h"
#include "harness/observe/learning/shares.h"
#include "harness/observe/sampling/gpus.h"

namespace headrace::observe {
namespace {

constexpr std::size_t kFewestSlices = 4;
constexpr double kShort_s = 10;    // of a command
constexpr double kStarving = 0.1;  // of the time: less is no starvation
constexpr double kWorthReporting = 0.005;
constexpr double kSaving = 0.05;  // of the time, lost to saves alone, where data is there else
constexpr double kGpuBusy = 0.9, kGpuFree = 0.5;
// The share of the main thread's computing: less time without a processor does not decide.
constexpr double kQueued = 0.5;
// The share of the main thread's time, without waiting for data, that is the limit. It must not spin until its GPU is
// ready. It does not where it is in the GPU's driver or pauses for kBlocks of it.
constexpr double kOwnWork = 0.5, kBlocks = 0.2;
constexpr double kSomeWork = 0.2;  // of the makers' time: less is waiting for each other
// Waiting for the lock, times the processor time: more threads would compute no more. Where no processor is free, a
// thread that waits for one keeps the lock.
constexpr double kLockHeld = 0.5, kLockHeldBusy = 2;
constexpr double kOneProcessor = 1.2;
constexpr std::uint64_t kSomeReads = 8;

std::string percent(const Share& share) {
  return fmt::format("{:.0f} % [{:.0f}, {:.0f}]", share.value * 100, share.low * 100, share.high * 100);
}

double seconds_between(double a_begin, double a_end, double b_begin, double b_end) {
  return std::max(0.0, std::min(a_end, b_end) - std::max(a_begin, b_begin));
}

/// How much the loader was waited for while a checkpoint was written, and while none was.
struct AroundSaves {
  Share within, without;
  double saving{};  // share of the time
};

AroundSaves around_saves(const Recording& recording, const std::vector<const Slice*>& slices, const Roles& roles) {
  std::vector<const Slice*> within, without;
  double saving = 0, seconds = 0;
  for (const Slice* slice : slices) {
    double covered = 0;
    for (const SaveSeen& save : recording.saves)
      covered += seconds_between(slice->begin_s, slice->end_s, save.begin_s, save.end_s);
    saving += covered;
    seconds += slice->seconds();
    (covered * 2 > slice->seconds() ? within : without).push_back(slice);
  }
  const auto of = [&roles](const Slice& slice) { return starving(slice, roles); };
  return {.within = share_over(within, "within", of),
          .without = share_over(without, "without", of),
          .saving = ratio(saving, seconds)};
}

/// "the main thread waited for data 12 % [5, 18] of the time, and 6 % [3, 8] for a processor; ...".
std::string starving_text(const Share& waiting, const Share& queued) {
  std::string text = fmt::format("the main thread waited for data {} of the time", percent(waiting));
  if (queued.value >= kWorthReporting) text += fmt::format(", and {} for a processor", percent(queued));
  const double low = waiting.low + queued.low, high = waiting.high + queued.high;
  if (low < kStarving && high >= kStarving)
    text += fmt::format("; whether that is more than {:.0f} % is unknown: the limit may be {}", kStarving * 100,
                        waiting.value + queued.value < kStarving ? "the awaited data" : "training itself");
  return text;
}

/// "its GPU was busy 34 % [30, 38] of the time".
std::string gpus_text(const Observation& seen, const Share& busy) {
  return fmt::format("{} busy {} of the time{}",
                     seen.gpus.size() == 1 ? "its GPU was" : fmt::format("its {} GPUs were", seen.gpus.size()),
                     percent(busy), seen.gpus.size() == 1 ? "" : " on average; waiting for each other counts as busy");
}

Limit consumer_limit(bool waits) {
  Limit limit{.id = "consumer",
              .sentence = "Training itself is the limit: data is there when it is asked for",
              .advice = {"a faster step, or more GPUs, which need more data; storage and loader are fast enough "
                         "(headrace require job.yaml --set cluster.gpus_per_node=N)"},
              .command = "headrace rehearse job.yaml"};
  if (waits) limit.sentence = "Training itself is the limit: its GPU computes while the main thread waits for data";
  return limit;
}

/// The main thread's own computing, apart from waiting for data and for its GPU.
Limit main_process_limit(const Observation& seen, bool makes) {
  Limit limit{
      .id = "main_process",
      .sentence = "The main process is the limit: its main thread computes between batches, while its GPU waits",
      .proof = {fmt::format("the main thread was on a processor {:.0f} % of the time between batches, and waited "
                            "for its GPU or paused {:.0f} %",
                            value_of(seen.training, "processor") * 100,
                            (value_of(seen.training, "gpu") + value_of(seen.training, "pause")) * 100)},
      .advice = {"augmentation and collation in the loader's workers, or on the GPU",
                 "fewer small kernels (CUDA graphs, torch.compile), no waiting for single values, less logging",
                 "a larger batch, where memory allows"},
      .command = "headrace rehearse job.yaml --tune"};
  if (!makes) return limit;
  limit.sentence = "The main process is the limit: it decodes and collates its batches itself, while training waits";
  limit.proof = {fmt::format("the main thread was on a processor {:.0f} % of the time between reads of one batch",
                             value_of(seen.consumer, "making") * 100)};
  limit.advice = {"worker processes (num_workers; headrace rehearse job.yaml --tune finds how many)",
                  "cheaper decoding"};
  return limit;
}

Limit lock_limit(const Makers& makers) {
  return {.id = "interpreter_lock",
          .sentence = "Python's interpreter lock is the limit: one thread at a time computes",
          .proof = {fmt::format("{} for the interpreter lock {:.0f} % of the time, and computed {:.0f} %",
                                makers.wait(), value_of(makers.shares, "interpreter_lock") * 100,
                                value_of(makers.shares, "processor") * 100)},
          .advice = {"worker processes instead of threads", "decoding by libraries that let go of the lock",
                     "Python without the lock (3.13t and later)"},
          .command = "headrace rehearse job.yaml --tune"};
}

Limit unknown_limit(std::string why, std::vector<std::string> advice) {
  return {.id = "unknown", .sentence = "The limit is unknown: " + std::move(why), .advice = std::move(advice)};
}

/// Does a main thread read data itself?
bool reads_itself(const std::vector<const Slice*>& slices, const Roles& roles) {
  std::uint64_t stretches = 0;
  for (const Slice* slice : slices)
    for (const ProcessSlice& one : slice->processes)
      if (roles.is_consumer(one.process))
        stretches += static_cast<std::uint64_t>(
            std::count_if(one.stretches.begin(), one.stretches.end(), [](std::uint32_t sum) { return sum > 0; }));
  return stretches >= kSomeReads;
}

/// Data is there when it is asked for.
Limit fed_limit(const std::vector<const Slice*>& slices, const Observation& seen) {
  const std::optional<Share> busy = gpus_busy(seen);
  const double own = value_of(seen.training, "processor"),
               blocked = value_of(seen.training, "gpu") + value_of(seen.training, "pause");
  if (busy && busy->high < kGpuFree) return main_process_limit(seen, false);
  if (busy && busy->low >= kGpuFree) return consumer_limit(false);
  const double step = own + blocked;
  if (own >= kOwnWork * step && blocked >= kBlocks * step && !busy) return main_process_limit(seen, false);
  if (seen.roles.in_process && own >= kOwnWork && seen.roles.making == 0 && reads_itself(slices, seen.roles))
    return unknown_limit(
        "the main thread reads its data and computes; whether it makes batches or trains on a processor looks the same "
        "from outside",
        {"give the loader a worker process (num_workers=1), and watch again: that separates the two"});
  return consumer_limit(false);
}

/// No more than one of the threads computes at a time, although others would. Where all processors are busy, those that wait for
/// one keep the lock, too.
bool lock_decides(const Observation& seen, double cpu, double lock) {
  const bool one_computes = seen.used_cpus <= kOneProcessor * std::max(1.0, seen.roles.consumers_at_once);
  return one_computes && lock >= (seen.idle_cpus >= kFreeProcessor ? kLockHeld : kLockHeldBusy) * cpu;
}

/// By the processes that make batches in addition to the consumer.
Limit makers_limit(const Recording& recording, const std::vector<const Slice*>& slices, const Observation& seen,
                   const Makers& makers) {
  const auto value = [&](std::string_view name) { return value_of(makers.shares, name); };
  const double storage = value("reading") + value("opening") + value("faults") + value("writing"),
               cpu = value("processor"), queued = value("queued"), lock = value("interpreter_lock"),
               pause = value("pause");
  Limit limit;
  if (storage + cpu + queued + lock + pause < kSomeWork)
    limit = {.id = "hand_over",
             .sentence =
                 "The limit is between workers and training, which wait for each other: one slow worker delays ordered "
                 "batches, or one thread copies them",
             .advice = {"larger prefetch_factor", "no copies through pipes: shared memory, fewer and larger batches"},
             .command = "headrace rehearse job.yaml"};
  else if (pause > std::max(storage, cpu + queued + lock))
    limit = {
        .id = "workers",
        .sentence = fmt::format("The loader's {} are the limit: most of the time they pause by themselves", makers.who),
        .proof = {fmt::format("{} paused {:.0f} % of the time, and no worker waited for room", makers.who,
                              pause * 100)},
        .advice = {"no pauses in the loader: the cause of their waits is not seen", makers.more()},
        .command = "headrace rehearse job.yaml --tune"};
  else if (lock_decides(seen, cpu, lock) && cpu + lock > storage)
    limit = lock_limit(makers);
  else
    limit = storage >= cpu + queued ? storage_limit(slices, seen, makers)
                                    : processor_limit(seen, cpu, queued, recording.machine_seen, makers);
  limit.proof.insert(limit.proof.begin(),
                     fmt::format("{} spent {:.0f} % of the time on storage, {:.0f} % on a processor, {:.0f} % ready "
                                 "without one, {:.0f} % waiting for their batches to be taken",
                                 makers.who, storage * 100, cpu * 100, queued * 100, value("consumer") * 100));
  return limit;
}

/// The main thread's own thread carries batches from workers that wait: it pins or copies them.
std::optional<Limit> carrier_limit(const Recording& recording, const std::vector<const Slice*>& slices,
                                   const Observation& seen) {
  const std::vector<Share> carriers = thread_shares(slices, seen.roles);
  const double busy = value_of(carriers, "processor"), lock = value_of(carriers, "interpreter_lock");
  if (busy + lock < kOwnWork || value_of(seen.workers, "consumer") < kOwnWork) return std::nullopt;
  const std::string& name = recording.threads[seen.roles.threads.front()].name;
  return Limit{.id = "hand_over",
               .sentence = fmt::format("A thread of the main process is the limit: it carries batches from workers "
                                       "to training (pin_memory, collation): {}",
                                       name),
               .proof = {fmt::format("it computed {:.0f} % of the time, and waited for the interpreter lock {:.0f} %; "
                                     "workers waited {:.0f} % for room",
                                     busy * 100, lock * 100, value_of(seen.workers, "consumer") * 100)},
               .advice = {"smaller batches of cheaper types: uint8 instead of float, no nested lists",
                          "collation in the workers", "pin_memory=False, where copying costs more than it gains"},
               .command = "headrace rehearse job.yaml --tune"};
}

/// No process of its own makes batches.
Limit in_process_limit(const Recording& recording, const std::vector<const Slice*>& slices, const Observation& seen) {
  const auto own = [&](std::string_view name) { return value_of(seen.consumer, name); };
  const double others = own("waiting_for_loader"), lock = own("interpreter_lock");
  if (own("making") >= std::max(own("reading"), others + lock)) return main_process_limit(seen, true);
  if (own("reading") >= others + lock) {
    const std::vector<Share> shares = own_reading_shares(slices, seen.roles);
    return storage_limit(slices, seen, {.who = "the main thread", .one = true, .shares = shares});
  }
  if (!seen.workers.empty()) return makers_limit(recording, slices, seen, {.who = "threads", .shares = seen.workers});
  if (lock > others) return lock_limit({.who = "the main thread", .one = true, .shares = seen.consumer});
  return unknown_limit(
      "the main thread waits, and no thread or process was seen that reads, decodes or computes for it. Perhaps data "
      "comes over a network, or from a process outside this job",
      {"watch the process that the data comes from, too (headrace observe --pid)"});
}

}  // namespace

Limit find_limit(const Recording& recording, const std::vector<const Slice*>& slices, const Observation& seen) {
  if ((seen.roles.consumers.empty() || slices.size() < kFewestSlices) && !recording.ended.empty() &&
      recording.elapsed_s < kShort_s)
    return {.id = "unknown",
            .sentence = fmt::format("The command ended after {} {}: too short to judge",
                                    format_duration(recording.elapsed_s), recording.ended),
            .advice = {"run it so that it trains for a minute or more"}};
  if (seen.roles.consumers.empty()) return unknown_limit("no process was seen taking batches", {"watch for longer"});
  if (slices.size() < kFewestSlices) {
    double seconds = 0;
    for (const Slice* slice : slices) seconds += slice->seconds();
    return unknown_limit(
        fmt::format(
            "batches were taken for {} after the first ones, and {} of the {} parts of that time were seen from "
            "which bounds follow",
            format_duration(seconds), slices.size(), kFewestSlices),
        {"watch for longer"});
  }
  if (!recording.waits_known) {
    Limit limit{
        .id = "unknown",
        .sentence = "The limit is unknown: this trace does not show the work of threads between their calls on files",
        .advice = {"watch the job itself (headrace observe --pid), or trace all its calls (strace -f -ttt -T -y)"}};
    if (!seen.workers.empty())
      limit.proof = {
          fmt::format("workers spent at least {:.0f} % of the time in reads and {:.0f} % in opens and attributes",
                      value_of(seen.workers, "reading") * 100, value_of(seen.workers, "opening") * 100)};
    return limit;
  }
  const Share waiting = share_over(slices, "starving", [&](const Slice& slice) { return starving(slice, seen.roles); });
  const AroundSaves saves = around_saves(recording, slices, seen.roles);
  const Share& still = seen.standing_still;
  Share queued_lead = *share_named(seen.training, "queued");
  for (double* one : {&queued_lead.value, &queued_lead.low, &queued_lead.high}) *one *= 1 - still.value;
  // A process without a processor can take no batch and start no step: processors limit that loss. A small one,
  // compared with its computing, is of other programs.
  const double own = value_of(seen.training, "processor") + value_of(seen.training, "making");
  const double starved = waiting.value + (queued_lead.value >= kQueued * own ? queued_lead.value : 0);
  const std::string waited = starving_text(waiting, queued_lead);
  const std::optional<Share> busy = gpus_busy(seen), alone = lone_gpu_busy(seen);
  const auto with = [&](Limit found) {
    found.proof.insert(found.proof.begin(), waited);
    if (busy) found.proof.push_back(gpus_text(seen, *busy));
    return found;
  };
  const double starved_in_saves = saves.within.value * saves.saving,
               starved_out = saves.without.value * (1 - saves.saving);
  const bool interfere = saves.saving < 0.9 && saves.within.low > saves.without.value &&
                         saves.within.value > 2 * saves.without.value &&
                         (starved_in_saves > starved_out || saves.without.value < kStarving);
  const double lost = still.value + (interfere ? starved_in_saves : 0);
  if ((interfere || starved < kStarving) && lost >= kSaving) {
    if (still.value > starved_in_saves)
      return with({.id = "checkpoint_stall",
                   .sentence = "Checkpoints are the limit: training pauses while they are written",
                   .proof = {fmt::format("training paused for saves {} of the time", percent(still))},
                   .advice = {"fewer saves, or asynchronous ones", "faster storage for checkpoints"},
                   .command = "headrace qualify job.yaml"});
    return with(
        {.id = "checkpoint_interference",
         .sentence = "Checkpoints are the limit: while one is written, reads are too slow",
         .proof = {fmt::format("the main thread waited for data {} of the time while a checkpoint was written, and {} "
                               "while none was; one was written {:.0f} % of the time",
                               percent(saves.within), percent(saves.without), saves.saving * 100)},
         .advice = {"write checkpoints to other storage than the data set's", "write them more slowly, or less often",
                    "storage that gives both at once"},
         .command = "headrace qualify job.yaml"});
  }
  if (starved < kStarving) return with(fed_limit(slices, seen));
  // Kernels that were queued before run on: nothing starves.
  if (alone && alone->low >= kGpuBusy) return with(consumer_limit(true));
  const Makers workers{.who = "workers", .shares = seen.workers};
  if (waiting.value < starved - waiting.value)
    return with(processor_limit(seen, 0, queued_lead.value, true,
                                {.who = "the main thread", .one = true, .shares = seen.consumer}));
  if (seen.roles.in_process) return with(in_process_limit(recording, slices, seen));
  if (auto carried = carrier_limit(recording, slices, seen)) return with(*std::move(carried));
  return with(makers_limit(recording, slices, seen, workers));
}

}  // namespace headrace::observe
