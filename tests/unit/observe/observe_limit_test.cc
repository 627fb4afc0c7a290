// What limits, from shares of looks: of jobs whose slices are laid.
#include "harness/observe/learning/limit.h"

#include <gtest/gtest.h>

#include "harness/observe/learning/shares.h"

namespace headrace::observe::observe_limit_test {
namespace {

constexpr std::uint32_t kLooks = 100;

/// Ten seconds in 40 slices of a process that takes batches and one worker of it; training is waiting for data that many of a
/// hundred looks while a save is written, and that many else. The save lasts from 4 s on.
struct Job {
  Recording recording;
  Observation seen;
  std::vector<const Slice*> slices;

  Job(std::uint32_t within, std::uint32_t without, double save_s, bool stands_still = false) {
    recording.processes = {{.pid = 1}, {.pid = 2, .parent = 0}};
    recording.saves = {
        {.process = 0, .begin_s = 4, .end_s = 4 + save_s, .bytes = 100, .lead_bytes = stands_still ? 100u : 0u}};
    for (int i = 0; i < 40; ++i) {
      Slice slice;
      slice.begin_s = i * 0.25;
      slice.end_s = slice.begin_s + 0.25;
      const bool saving = slice.begin_s >= 4 && slice.end_s <= 4 + save_s;
      const std::uint32_t waits = saving ? within : without;
      ProcessSlice lead, worker;
      worker.process = 1;
      lead.lead[static_cast<std::size_t>(Wait::hand_over)] = waits;
      lead.lead[static_cast<std::size_t>(Wait::sleep)] = kLooks - waits;
      worker.lead[static_cast<std::size_t>(Wait::read)] = kLooks;
      slice.processes = {lead, worker};
      recording.slices.push_back(slice);
    }
    seen.roles.consumers = {0};
    seen.roles.workers = {1};
    for (const Slice& slice : recording.slices) slices.push_back(&slice);
    seen.consumer = consumer_shares(slices, seen.roles);
    seen.workers = worker_shares(slices, seen.roles);
    seen.standing_still = standing_still(recording, slices);
    seen.training = consumer_shares(beside_saves(recording, slices), seen.roles);
  }
  std::string limit() const { return find_limit(recording, slices, seen).id; }
};

TEST(FindLimit, IsTheSavesThatTrainingStarvesInThoughItSeldomDoes) {
  EXPECT_EQ(Job(90, 0, 1).limit(), "checkpoint_interference");  // 9 % of the time
  EXPECT_EQ(Job(90, 1, 4).limit(), "checkpoint_interference");
}

TEST(FindLimit, IsNotTheSavesWhereTheyCostLittleOrNothing) {
  EXPECT_EQ(Job(40, 0, 1).limit(), "consumer");  // 4 % of the time
  EXPECT_EQ(Job(3, 3, 4).limit(), "consumer");
  EXPECT_EQ(Job(50, 50, 4).limit(), "storage_latency");  // data is missing all the same
}

TEST(FindLimit, IsTheStandingStillWhereThatTakesMore) {
  EXPECT_EQ(Job(0, 0, 1, true).limit(), "checkpoint_stall");
  EXPECT_EQ(Job(0, 0, 0.25, true).limit(), "consumer");  // 2.5 % of the time
}

TEST(FindLimit, IsTheProcessorsThatTheMainThreadDoesNotGet) {
  Job job(5, 5, 0);
  const auto without_one = [&](double share) {
    for (Slice& slice : job.recording.slices) {
      ProcessSlice& lead = slice.processes[0];
      lead.counted.queued_s = share * slice.seconds();
      lead.lead[static_cast<std::size_t>(Wait::running)] = static_cast<std::uint32_t>(share * kLooks);
      lead.lead[static_cast<std::size_t>(Wait::sleep)] = kLooks - 5 - static_cast<std::uint32_t>(share * kLooks);
    }
    job.seen.consumer = job.seen.training = consumer_shares(job.slices, job.seen.roles);
    return find_limit(job.recording, job.slices, job.seen);
  };
  EXPECT_EQ(without_one(0.02).id, "consumer");
  const Limit limit = without_one(0.3);
  EXPECT_EQ(limit.id, "processor");
  EXPECT_NE(limit.proof[0].find("for data 5 % [5, 5] of the time, and 30 % [30, 30] for a processor"),
            std::string::npos)
      << limit.proof[0];
  job.seen.throttled = 0.3;
  EXPECT_EQ(without_one(0.3).id, "cgroup_cpu");
}

TEST(FindLimit, SaysWhereItIsNotSureThatItStarves) {
  Job job(0, 0, 0);
  const auto doubtful = [&](std::uint32_t waits) {  // in every other slice
    for (std::size_t i = 0; i < job.recording.slices.size(); i += 4)
      for (const std::size_t j : {i, i + 1}) {
        ProcessSlice& lead = job.recording.slices[j].processes[0];
        lead.lead[static_cast<std::size_t>(Wait::hand_over)] = waits;
        lead.lead[static_cast<std::size_t>(Wait::sleep)] = kLooks - waits;
      }
    job.seen.consumer = job.seen.training = consumer_shares(job.slices, job.seen.roles);
    return find_limit(job.recording, job.slices, job.seen);
  };
  EXPECT_NE(doubtful(24).proof[0].find("the limit may be training itself"), std::string::npos);
  const Limit below = doubtful(16);
  EXPECT_EQ(below.id, "consumer");
  EXPECT_NE(below.proof[0].find("the limit may be the awaited data"), std::string::npos) << below.proof[0];
  EXPECT_EQ(doubtful(80).proof[0].find("is unknown"), std::string::npos);
}

TEST(FindLimit, SaysHowLittleItSawWhereThatIsTooLittle) {
  Job job(50, 50, 0);
  job.slices.resize(3);
  const Limit limit = find_limit(job.recording, job.slices, job.seen);
  EXPECT_EQ(limit.id, "unknown");
  EXPECT_NE(limit.sentence.find("3 of the 4 parts"), std::string::npos) << limit.sentence;
  job.slices.push_back(&job.recording.slices[3]);
  EXPECT_NE(job.limit(), "unknown");
  job.seen.roles.consumers.clear();
  EXPECT_NE(find_limit(job.recording, job.slices, job.seen).sentence.find("no process was seen taking batches"),
            std::string::npos);
}

/// A GPU of the job, which was busy so much of the time.
GpuSummary gpu(double busy) {
  GpuSummary one{.pci_address = "0000:17:00.0", .name = "", .busy = {}, .memory_busy = {}, .own_busy = {}};
  one.busy = {.name = "busy", .value = busy, .low = busy - 0.02, .high = busy + 0.02};
  one.busy_known = true;
  return one;
}

TEST(FindLimit, IsNoStarvingWhereTheOneGpuComputesMeanwhile) {
  Job job(60, 60, 0);
  job.seen.gpus = {gpu(0.97)};
  EXPECT_EQ(job.limit(), "consumer");
  job.seen.gpus = {gpu(0.5)};
  EXPECT_EQ(job.limit(), "storage_latency");
  // Of several each may be waiting for another, and of one that others use nobody knows whose work it is.
  job.seen.gpus = {gpu(0.97), gpu(0.97)};
  EXPECT_EQ(job.limit(), "storage_latency");
  job.seen.gpus = {gpu(0.97)};
  job.seen.gpus.front().shared = true;
  EXPECT_EQ(job.limit(), "storage_latency");
}

TEST(FindLimit, ReportsATrainingThatItsMainThreadHoldsUp) {
  Job job(0, 0, 0);
  job.seen.gpus = {gpu(0.2)};
  const Limit limit = find_limit(job.recording, job.slices, job.seen);
  EXPECT_EQ(limit.id, "main_process");
  EXPECT_NE(limit.proof.back().find("busy 20 %"), std::string::npos) << limit.proof.back();
  job.seen.gpus = {gpu(0.95)};
  EXPECT_EQ(job.limit(), "consumer");
}

TEST(FindLimit, IsTheNfsClientWhereReadsWaitToBeSent) {
  Job job(60, 60, 0);
  job.seen.storage.client =
      ClientSeen{.reads = 50, .queue_s = 0.04, .round_trip_s = 0.01, .took_s = 0.05, .at_daemon = {}};
  EXPECT_EQ(job.limit(), "nfs_slots");
  EXPECT_NE(find_limit(job.recording, job.slices, job.seen).advice[0].find("max_session_slots"), std::string::npos);
  job.seen.storage.client->waiting = 12;
  EXPECT_NE(find_limit(job.recording, job.slices, job.seen).advice[0].find("nconnect"), std::string::npos);
  // So do opens, of which a job of small files has as many.
  const auto lies_in = [&](Wait wait, std::uint32_t looks) {
    for (Slice& slice : job.recording.slices) slice.processes[1].lead[static_cast<std::size_t>(wait)] = looks;
    job.seen.workers = worker_shares(job.slices, job.seen.roles);
  };
  lies_in(Wait::name, 2 * kLooks);
  EXPECT_EQ(job.limit(), "nfs_slots");
  job.seen.storage.client->queue_s = 0.001;
  EXPECT_EQ(job.limit(), "slow_opens");
  lies_in(Wait::name, 0);
  job.seen.storage.client->queue_s = 0.001;
  job.seen.storage.client->round_trip_s = 0.049;
  const Limit slow = find_limit(job.recording, job.slices, job.seen);
  EXPECT_EQ(slow.id, "storage_latency");
  EXPECT_NE(slow.proof[2].find("49.0 ms until the server's answer"), std::string::npos) << slow.proof[2];
}

/// One process without workers, in 40 slices: looks at its main thread, at a thread of it that brings data in, and what threads
/// were found at while the main thread waited.
struct Alone {
  Recording recording;
  Observation seen;
  std::vector<const Slice*> slices;

  void lay(const ProcessSlice& looks, bool has_thread) {
    recording = {};
    recording.processes = {{.pid = 1}};
    recording.cpus = 4;
    if (has_thread) recording.threads = {{.process = 0, .tid = 2, .name = "reader"}};
    for (int i = 0; i < 40; ++i) {
      Slice slice;
      slice.begin_s = i * 0.25;
      slice.end_s = slice.begin_s + 0.25;
      slice.processes = {looks};
      recording.slices.push_back(slice);
    }
    slices.clear();
    for (const Slice& slice : recording.slices) slices.push_back(&slice);
    Roles roles;
    roles.consumers = {0};
    roles.in_process = true;
    roles.making = seen.roles.making;
    if (has_thread) roles.threads = {0};
    seen.roles = roles;
    seen.consumer = seen.training = consumer_shares(slices, roles);
    seen.workers = has_thread ? thread_shares(slices, roles) : std::vector<Share>{};
    seen.standing_still = standing_still(recording, slices);
    seen.idle_cpus = 3;
  }
  Limit limit() const { return find_limit(recording, slices, seen); }
};

/// Looks by what they found.
using Found = std::initializer_list<std::pair<Wait, std::uint32_t>>;
WaitCounts counts(Found found) {
  WaitCounts all{};
  for (const auto& [wait, looks] : found) all[static_cast<std::size_t>(wait)] = looks;
  return all;
}
ProcessSlice looks(Found lead, Found behind = {}, Found thread = {}) {
  ProcessSlice one;
  one.lead = counts(lead);
  one.behind = counts(behind);
  if (thread.size() > 0) one.threads = {{.thread = 0, .waits = counts(thread)}};
  return one;
}

TEST(FindLimitWithoutWorkers, IsWhatThreadsThatBringDataInWaitFor) {
  Alone job;
  const auto with_thread = [&](Found thread, Found behind) {
    job.lay(looks({{Wait::hand_over, 87}, {Wait::sleep, 13}}, behind, thread), true);
    return job.limit().id;
  };
  EXPECT_EQ(with_thread({{Wait::read, 20}}, {{Wait::read, 17}}), "storage_latency");
  EXPECT_EQ(with_thread({{Wait::fault, 20}}, {{Wait::fault, 17}}), "storage_latency");
  EXPECT_EQ(with_thread({{Wait::name, 15}, {Wait::read, 5}}, {{Wait::name, 17}}), "slow_opens");
  EXPECT_EQ(with_thread({{Wait::running, 20}}, {{Wait::running, 17}}), "workers");
  EXPECT_EQ(with_thread({{Wait::sleep, 20}}, {{Wait::hand_over, 17}}), "workers");
  EXPECT_EQ(with_thread({{Wait::hand_over, 20}}, {{Wait::hand_over, 17}}), "hand_over");
  job.seen.used_cpus = 1;
  EXPECT_EQ(with_thread({{Wait::running, 4}, {Wait::lock, 16}}, {{Wait::lock, 17}}), "interpreter_lock");
  job.seen.used_cpus = 3;  // they compute beside each other
  EXPECT_EQ(with_thread({{Wait::running, 12}, {Wait::lock, 8}}, {{Wait::running, 17}}), "workers");
}

TEST(FindLimitWithoutWorkers, IsTrainingWhereThreadsThatBringNothingInComputeForTheMainThread) {
  Alone job;
  job.lay(looks({{Wait::hand_over, 87}, {Wait::sleep, 13}}, {{Wait::other, 17}}), false);
  EXPECT_EQ(job.limit().id, "consumer");
  EXPECT_NEAR(value_of(job.seen.consumer, "processor"), 0.87, 1e-9);
}

TEST(FindLimitWithoutWorkers, IsNotReportedWhereNobodyIsSeenWhoMakesBatches) {
  Alone job;
  job.lay(looks({{Wait::hand_over, 87}, {Wait::sleep, 13}}, {{Wait::hand_over, 17}}), false);
  EXPECT_EQ(job.limit().id, "unknown");
}

TEST(FindLimitWithoutWorkers, IsWhatTheMainThreadReadsOrMakesItself) {
  Alone job;
  job.lay(looks({{Wait::read, 80}, {Wait::sleep, 20}}), false);
  EXPECT_EQ(job.limit().id, "storage_latency");
  job.lay(looks({{Wait::fault, 80}, {Wait::sleep, 20}}), false);
  EXPECT_EQ(job.limit().id, "storage_latency");
  job.lay(looks({{Wait::name, 60}, {Wait::read, 20}, {Wait::sleep, 20}}), false);
  EXPECT_EQ(job.limit().id, "slow_opens");
  ProcessSlice computes = looks({{Wait::running, 90}, {Wait::sleep, 10}});
  computes.stretches[2] = 70;
  job.seen.roles.making = 4;
  job.lay(computes, false);
  EXPECT_EQ(job.limit().id, "main_process");
  EXPECT_NEAR(value_of(job.seen.consumer, "making"), 0.7, 1e-9);
  // A step of which nothing is a pause: whether it is training or making, nobody can decide.
  job.seen.roles.making = 0;
  ProcessSlice alike = looks({{Wait::running, 100}});
  alike.stretches[5] = 90;
  job.lay(alike, false);
  EXPECT_EQ(job.limit().id, "unknown");
  job.seen.gpus = {gpu(0.95)};
  EXPECT_EQ(job.limit().id, "consumer");
}

TEST(FindLimit, IsAThreadThatCarriesBatchesWhereWorkersWaitForRoom) {
  Job job(80, 80, 0);
  job.recording.threads = {{.process = 0, .tid = 9, .name = "pin_memory"}};
  job.seen.roles.threads = {0};
  for (Slice& slice : job.recording.slices) {
    slice.processes[0].threads = {{.thread = 0, .waits = counts({{Wait::running, 18}, {Wait::hand_over, 2}})}};
    slice.processes[0].behind = counts({{Wait::running, 20}});
    slice.processes[1].lead = counts({{Wait::hand_over, 100}});
  }
  job.seen.workers = worker_shares(job.slices, job.seen.roles);
  const Limit limit = find_limit(job.recording, job.slices, job.seen);
  EXPECT_EQ(limit.id, "hand_over");
  EXPECT_NE(limit.sentence.find("pin_memory"), std::string::npos) << limit.sentence;
}

TEST(FindLimit, BlamesADeviceForTheJobsOwnBytesAlone) {
  Job job(60, 60, 0);
  job.seen.storage.device = "254:0";
  job.seen.storage.read_rate = 234e6;
  job.seen.storage.requests = 1770;
  job.seen.storage.request_bytes = 133e3;
  job.seen.storage.own_rate = 200e6;
  EXPECT_EQ(job.limit(), "storage_bandwidth");
  job.seen.storage.own_rate = 2e6;
  EXPECT_EQ(job.limit(), "storage_latency");
  job.seen.storage.limit_bytes = 240e6;  // which others use up
  EXPECT_EQ(job.limit(), "storage_latency");
  job.seen.storage.own_rate = 234e6;
  EXPECT_EQ(job.limit(), "cgroup_io");
  job.seen.storage.own_rate.reset();
  EXPECT_EQ(job.limit(), "storage_latency");
}

TEST(WorkerShares, AreOfTheLoaderThatIsBusy) {
  Job job(60, 60, 0);
  job.recording.processes.push_back({.pid = 3, .parent = 0});
  job.seen.roles.workers = {1, 2};
  for (Slice& slice : job.recording.slices) {
    ProcessSlice waits = looks({{Wait::hand_over, 90}, {Wait::running, 10}});
    waits.process = 2;
    slice.processes.push_back(waits);
  }
  EXPECT_DOUBLE_EQ(value_of(worker_shares(job.slices, job.seen.roles), "reading"), 1);
}

TEST(WorkerShares, SeeThroughToTheThreadsOfAWorker) {
  Job job(60, 60, 0);
  for (Slice& slice : job.recording.slices) {
    slice.processes[1].lead = counts({{Wait::hand_over, 100}});
    slice.processes[1].behind = counts({{Wait::read, 15}, {Wait::hand_over, 5}});
  }
  const std::vector<Share> shares = worker_shares(job.slices, job.seen.roles);
  EXPECT_DOUBLE_EQ(value_of(shares, "reading"), 0.75);
  EXPECT_DOUBLE_EQ(value_of(shares, "consumer"), 0.25);
}

}  // namespace
}  // namespace headrace::observe::observe_limit_test
