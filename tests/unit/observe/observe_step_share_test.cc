// What of the time between two batches is the step: of a job whose main thread computes, too.
#include "harness/observe/learning/step_share.h"

#include <gtest/gtest.h>

#include "harness/observe/learning/shares.h"

namespace headrace::observe::observe_step_share_test {
namespace {

constexpr double kLooks = 4000;  // in all

/// Of a hundred looks at the main thread, in each of 40 slices of a quarter of a second.
struct Looks {
  std::uint32_t waiting = 0, processor = 0, queued = 0, pause = 0;
};

struct Job {
  Recording recording;
  Observation seen;
  std::vector<const Slice*> slices;

  explicit Job(const Looks& looks) {
    recording.processes = {{.pid = 1}, {.pid = 2, .parent = 0}};
    for (int i = 0; i < 40; ++i) {
      Slice slice;
      slice.begin_s = i * 0.25;
      slice.end_s = slice.begin_s + 0.25;
      slice.processes = {lead(looks)};
      recording.slices.push_back(slice);
    }
    seen.roles.consumers = {0};
    seen.roles.workers = {1};
    for (const Slice& slice : recording.slices) slices.push_back(&slice);
  }
  static ProcessSlice lead(const Looks& looks) {
    ProcessSlice one;
    one.lead[static_cast<std::size_t>(Wait::hand_over)] = looks.waiting;
    one.lead[static_cast<std::size_t>(Wait::running)] = looks.processor + looks.queued;
    one.lead[static_cast<std::size_t>(Wait::sleep)] = looks.pause;
    one.counted.queued_s = 0.25 * looks.queued / 100;
    one.counted.user_s = 0.25 * looks.processor / 100;
    return one;
  }
  OwnTime own() {
    seen.consumer = consumer_shares(slices, seen.roles);
    seen.standing_still = standing_still(recording, slices);
    seen.training = consumer_shares(beside_saves(recording, slices), seen.roles);
    return find_own_time(recording, slices, seen);
  }
  StepShare step() {
    const OwnTime taking = own();
    return find_step_share(seen, taking, {.count = kLooks});
  }
};

TEST(StepShare, IsWithoutTheCostOfTakingBatches) {
  const StepShare step = Job({.waiting = 12, .processor = 9, .queued = 6, .pause = 73}).step();
  EXPECT_NEAR(step.value, 0.73, 1e-9);
  EXPECT_GT(step.low, 0.7);
  EXPECT_GT(step.high, 0.73 + 0.09 + 0.06);  // that may have been the step, too
  EXPECT_NE(step.evidence.find("no taking of batches"), std::string::npos) << step.evidence;
}

TEST(StepShare, HasBoundsOfAllThatMayBeSpinning) {
  const StepShare step = Job({.waiting = 20, .processor = 70, .queued = 0, .pause = 10}).step();
  EXPECT_NEAR(step.value, 0.8, 1e-9);  // as if it were
  EXPECT_LE(step.low, 0.1);
  EXPECT_GE(step.high, 0.8);
}

TEST(StepShare, IsSurerOfMoreLooks) {
  Job job({.waiting = 50, .processor = 0, .queued = 0, .pause = 50});
  const OwnTime own = job.own();
  const StepShare few = find_step_share(job.seen, own, {.count = 100}),
                  many = find_step_share(job.seen, own, {.count = 10000});
  EXPECT_NEAR(few.high - few.low, 10 * (many.high - many.low), 1e-9);
  EXPECT_LT(many.high - many.low, 0.02);
  EXPECT_NEAR(find_step_share(job.seen, own, {.count = 10000, .unsure = 0.1}).high, many.high + 0.1, 1e-9);
}

/// Of shares that were laid.
Observation laid(std::vector<Share> training, double still = 0) {
  Observation seen;
  seen.training = std::move(training);
  seen.standing_still.value = still;
  seen.roles.consumers = {0};
  return seen;
}
const Share kLock{.name = "interpreter_lock", .value = 0.1}, kWaits{.name = "waiting_for_loader", .value = 0.2},
    kReads{.name = "reading", .value = 0.15}, kMakes{.name = "making", .value = 0.05};

TEST(StepShare, IsWithoutWaitingForTheLoaderOrForTheLock) {
  const LooksAtLead sure{.count = 1e12};
  const StepShare step = find_step_share(laid({kLock, kWaits, kReads, kMakes}, 0.5), {}, sure);
  EXPECT_NEAR(step.value, 0.35, 1e-9) << "half of the time saves are written, and 0.3 of the rest is waiting";
  EXPECT_NEAR(step.low, 0.35, 1e-5);
  EXPECT_NEAR(step.high, 0.4, 1e-5) << "the lock may have been awaited in the step";
  Observation alone = laid({kLock, kWaits, kReads, kMakes});
  alone.roles.in_process = true;
  EXPECT_NEAR(find_step_share(alone, {}, sure).value, 0.5, 1e-9) << "one that reads itself";
  EXPECT_NEAR(find_step_share(laid({{.name = "waiting_for_loader", .value = 1}}), {}, sure).value, 1e-3, 1e-12);
  const OwnTime all{.known = true, .value = 0.7, .low = 0, .high = 0.7, .evidence = {}};
  EXPECT_NEAR(find_step_share(laid({kLock, kWaits}), all, sure).value, 1e-3, 1e-12);
  EXPECT_NEAR(find_step_share(laid({kLock, kWaits}), {}, {.count = 0}).high, 0.7 + 0.1 + 1, 1e-9) << "without looks";
  EXPECT_NEAR(find_step_share(laid({}), {}, {.count = 100}).high, 1, 1e-9) << "all of the time";
  EXPECT_NEAR(find_step_share(laid({kWaits}), {}, {.count = 1}).high, 0.8 + 1.96 * 0.4, 1e-9);
}

TEST(StepShare, IsAsLongAsItsGpuComputes) {
  const auto with_gpu = [](double busy) {
    Observation seen = laid({kWaits});
    seen.gpus = {{.pci_address = "", .name = "", .busy = {}, .memory_busy = {}, .own_busy = {}}};
    seen.gpus[0].busy = {.name = "busy", .value = busy, .low = busy, .high = busy + 0.1};
    seen.gpus[0].busy_known = true;
    return find_step_share(seen, {}, {.count = 1e12});
  };
  EXPECT_NEAR(with_gpu(0.85).value, 0.85, 1e-9) << "queued kernels run on";
  EXPECT_NEAR(with_gpu(0.85).high, 0.95, 1e-9);
  EXPECT_NEAR(with_gpu(0.75).value, 0.8, 1e-9);
  EXPECT_NEAR(with_gpu(0.75).high, 0.8, 1e-5);
}

TEST(OwnTime, IsTheKernelsCountIfLooksFindOneJustReady) {
  Job job({.waiting = 60, .processor = 2, .queued = 0, .pause = 38});
  for (Slice& slice : job.recording.slices) slice.processes[0].counted.user_s = 0.25 * 0.001;
  const OwnTime own = job.own();
  EXPECT_NEAR(own.value, 0.001, 1e-9);
  EXPECT_NEAR(own.high, 0.002, 1e-9);                                                  // a tick in ten seconds
  for (Slice& slice : job.recording.slices) slice.processes[0].counted.user_s = 0.25;  // threads that nobody waits for
  EXPECT_NEAR(job.own().value, 0.02, 1e-9);
  EXPECT_EQ(job.own().low, 0);  // for all that is known, those computed meanwhile
  for (Slice& slice : job.recording.slices) slice.processes[0].counted.user_s = 0.25 * 0.02;
  EXPECT_NEAR(job.own().low, 0.02, 0.0011);
}

TEST(OwnTime, IsTheRestOfCallsIfNothingIsCounted) {
  Job job({.waiting = 10, .processor = 8, .queued = 0, .pause = 82});
  job.recording.machine_seen = false;
  for (Slice& slice : job.recording.slices) slice.processes[0].counted.user_s = 0;
  EXPECT_NEAR(job.own().high, 0.08, 1e-9);
}

TEST(OwnTime, IsWithoutABlockingSave) {
  Job job({.waiting = 0, .processor = 2, .queued = 0, .pause = 98});
  job.recording.saves = {{.process = 0, .begin_s = 4, .end_s = 6, .bytes = 100, .lead_bytes = 100}};
  for (Slice& slice : job.recording.slices)
    if (slice.begin_s >= 4 && slice.end_s <= 6)
      slice.processes[0] = Job::lead({.waiting = 0, .processor = 100, .queued = 0, .pause = 0});
  const OwnTime own = job.own();
  EXPECT_TRUE(own.known);
  EXPECT_NEAR(own.value, 0.02 * 0.8, 1e-9);
  EXPECT_NEAR(job.step().value, 0.98 * 0.8, 1e-9);
  // Nor is a step what it got no processor for meanwhile.
  for (Slice& slice : job.recording.slices)
    if (slice.begin_s >= 4 && slice.end_s <= 6)
      slice.processes[0] = Job::lead({.waiting = 0, .processor = 40, .queued = 60, .pause = 0});
  EXPECT_NEAR(job.step().value, 0.98 * 0.8, 1e-9);
  for (Slice& slice : job.recording.slices)
    if (slice.begin_s >= 4 && slice.end_s <= 6)
      slice.processes[0] = Job::lead({.waiting = 0, .processor = 100, .queued = 0, .pause = 0});
  // Another thread writes it meanwhile: what the main thread computes is its own.
  job.recording.saves.front().lead_bytes = 0;
  EXPECT_NEAR(job.own().value, 0.02 * 0.8 + 0.2, 1e-9);
}

}  // namespace
}  // namespace headrace::observe::observe_step_share_test
