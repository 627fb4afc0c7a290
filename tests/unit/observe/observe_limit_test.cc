// What limits, from shares of looks: of jobs whose slices are laid.
#include "harness/observe/learning/limit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "harness/observe/learning/limit_kinds.h"
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

TEST(FindLimit, IsNoStarvingIfTheOneGpuComputesInParallel) {
  Job job(60, 60, 0);
  job.seen.gpus = {gpu(0.97)};
  EXPECT_EQ(job.limit(), "consumer");
  EXPECT_NE(find_limit(job.recording, job.slices, job.seen).sentence.find("computes while"), std::string::npos);
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

TEST(FindLimitWithoutWorkers, IsTheLimitOfThreadsThatBringDataIn) {
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

TEST(FindLimitWithoutWorkers, IsNotReportedWithoutMakersOfBatches) {
  Alone job;
  job.lay(looks({{Wait::hand_over, 87}, {Wait::sleep, 13}}, {{Wait::hand_over, 17}}), false);
  EXPECT_EQ(job.limit().id, "unknown");
}

TEST(FindLimitWithoutWorkers, IsTheMainThreadsOwnReadingOrMaking) {
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

TEST(FindLimit, IsThePausesOfWorkersWhereTheyTakeMost) {
  Job job(60, 60, 0);
  const auto sentence = [&](Found found, double queued = 0) {
    for (Slice& slice : job.recording.slices) {
      slice.processes[1].lead = counts(found);
      slice.processes[1].counted.queued_s = queued * slice.seconds();
    }
    job.seen.workers = worker_shares(job.slices, job.seen.roles);
    job.seen.idle_cpus = 3;
    return find_limit(job.recording, job.slices, job.seen).sentence;
  };
  const std::string pauses = "The loader's workers are the limit: most of the time they pause by themselves";
  EXPECT_EQ(sentence({{Wait::sleep, 50}, {Wait::running, 40}, {Wait::read, 10}}), pauses);
  EXPECT_NE(sentence({{Wait::sleep, 40}, {Wait::running, 50}, {Wait::read, 10}}), pauses);
  EXPECT_NE(sentence({{Wait::sleep, 40}, {Wait::running, 10}, {Wait::read, 50}}), pauses);
  EXPECT_NE(sentence({{Wait::sleep, 40}, {Wait::running, 60}}, 0.3), pauses) << "without a processor half of it";
  EXPECT_NE(sentence({{Wait::sleep, 40}, {Wait::running, 20}, {Wait::lock, 30}, {Wait::hand_over, 10}}), pauses);
}

/// Eight slices of half a second of a process that takes ten batches in each. A worker and its thread read half of the time.
TEST(Understand, SumsUpCountsOfTheDeviceAndTheClient) {
  Recording recording;
  recording.processes = {{.pid = 1, .last_s = 8}, {.pid = 2, .parent = 0, .last_s = 8}};
  recording.hand_overs = {{.process = 0, .jumps = {{2, 160}}, .by_pause = {{2, 80}}}};
  for (int i = 0; i < 8; ++i) {
    Slice slice;
    slice.begin_s = i * 0.5;
    slice.end_s = slice.begin_s + 0.5;
    ProcessSlice lead = looks({{Wait::hand_over, 40}, {Wait::sleep, 60}});
    lead.looks = kLooks;
    lead.takes = lead.pauses = 10;
    lead.taken_calls = lead.looked_calls = 20;
    ProcessSlice worker =
        looks({{Wait::read, 50}, {Wait::running, 50}}, {}, {{Wait::name, 1}, {Wait::fault, 1}, {Wait::running, 2}});
    worker.process = 1;
    worker.counted = {
        .read_calls_bytes = 40'000, .read_calls = 80, .storage_read_bytes = 20'000, .user_s = 0.3, .system_s = 0.2};
    slice.processes = {lead, worker};
    slice.devices[""] = {.reads = 10,
                         .read_bytes = 100'000,
                         .written_bytes = 50'000,
                         .read_wait_s = 0.5,
                         .busy_s = 0.25,
                         .queue_s = 0.75};
    slice.machine.idle_cpus = 2;
    slice.machine.throttled_s = 0.1;
    slice.machine.client = {.read_bytes = 1'000'000,
                            .reads = 10,
                            .queue_s = 0.1,
                            .round_trip_s = 0.2,
                            .execution_s = 0.4,
                            .sent = 10,
                            .in_flight_sum = 20,
                            .waiting_sum = 5,
                            .daemon_sum = 6,
                            .daemon_looks = 4};
    recording.slices.push_back(slice);
  }
  recording.slices.back().devices.clear();  // it had nothing to do
  recording.threads = {{.process = 1}};
  const Observation seen = understand(recording, "");
  EXPECT_EQ(seen.roles.workers, std::vector<std::uint32_t>{1});
  const StorageSeen& storage = seen.storage;
  EXPECT_DOUBLE_EQ(storage.seconds, 3.5) << "the pipeline fills in the first";
  const double part = 6.0 / 7;  // of the slices
  const std::vector<std::pair<double, double>> as_laid{{storage.read_rate, 2e5 * part},
                                                       {storage.requests, 20 * part},
                                                       {storage.request_bytes, 1e4},
                                                       {storage.write_rate, 1e5 * part},
                                                       {storage.busy, 0.5 * part},
                                                       {storage.queue, 1.5 * part},
                                                       {storage.wait_s, 0.05},
                                                       {*storage.own_rate, 4e4},
                                                       {storage.waiting_threads, 1},
                                                       {storage.client->read_rate, 2e6},
                                                       {storage.client->reads, 20},
                                                       {storage.client->queue_s, 0.01},
                                                       {storage.client->round_trip_s, 0.02},
                                                       {storage.client->took_s, 0.04},
                                                       {storage.client->in_flight, 2},
                                                       {storage.client->waiting, 0.5},
                                                       {*storage.client->at_daemon, 1.5},
                                                       {seen.idle_cpus, 2},
                                                       {seen.throttled, 0.2},
                                                       {seen.used_cpus, 1}};
  for (std::size_t i = 0; i < as_laid.size(); ++i) EXPECT_NEAR(as_laid[i].first, as_laid[i].second, 1e-9) << i;
  const auto notes = [&] { return understand(recording, "").notes.size(); };
  const std::size_t before = notes();
  recording.paths_left_out = 1;
  EXPECT_EQ(notes(), before + 1);
  recording.refused = {"no counters"};
  EXPECT_EQ(notes(), before + 2);
  recording.processes[1].counters_refused = true;
  for (Slice& slice : recording.slices) {
    slice.machine.client = {};
    slice.devices[""].busy_s = 0.6;
  }
  EXPECT_EQ(understand(recording, "").storage.busy, 1) << "no device is busy for longer than it is watched";
  EXPECT_FALSE(understand(recording, "").storage.own_rate);
  EXPECT_FALSE(understand(recording, "").storage.client);
  for (const ClientSlice& client :
       {ClientSlice{.read_bytes = 1}, ClientSlice{.read_bytes = 1, .reads = 1, .queue_s = 2},
        ClientSlice{.reads = 1, .queue_s = 2, .sent = 1, .waiting_sum = 3},
        ClientSlice{.sent = 1, .waiting_sum = 3, .daemon_sum = 4, .daemon_looks = 1},
        ClientSlice{.daemon_sum = 4, .daemon_looks = 1}}) {
    for (Slice& slice : recording.slices) slice.machine.client = client;
    const std::optional<ClientSeen> found = understand(recording, "").storage.client;
    ASSERT_TRUE(found);
    EXPECT_EQ(found->queue_s, client.queue_s);
    EXPECT_EQ(found->waiting, static_cast<double>(client.waiting_sum));
    EXPECT_EQ(found->at_daemon.value_or(0), static_cast<double>(client.daemon_sum));
    EXPECT_EQ(found->at_daemon.has_value(), client.daemon_looks > 0);
  }
  const Observation nobody = understand({}, "");
  EXPECT_FALSE(nobody.quota_cpus || nobody.storage.client);
  EXPECT_EQ(nobody.storage.read_rate + nobody.idle_cpus + *nobody.storage.own_rate, 0);
  // One process that reads by a thread.
  recording.processes.pop_back();
  recording.threads = {{.process = 0}};
  for (Slice& slice : recording.slices) {
    slice.processes.pop_back();
    ProcessSlice& lead = slice.processes[0];
    lead.counted = {.read_calls_bytes = 1000, .read_calls = 1};
    lead.threads = {{.thread = 0, .waits = counts({{Wait::read, 3}, {Wait::running, 1}})}};
  }
  const Observation alone = understand(recording, "");
  EXPECT_DOUBLE_EQ(alone.storage.waiting_threads, 0.75);
  EXPECT_DOUBLE_EQ(value_of(alone.workers, "reading"), 0.75);
}

std::string proof_of(const Limit& limit) {
  std::string all = limit.sentence;
  for (const auto* lines : {&limit.proof, &limit.advice})
    for (const std::string& line : *lines) all += "\n" + line;
  return all;
}

TEST(StorageLimit, FollowsFromTheDeviceAndTheGroup) {
  struct Case {
    double bytes, requests, own;
    std::optional<double> most_bytes, most_requests;
    const char *id, *words;
  };
  for (const Case& c :
       {Case{1e8, 1000, 1e8, {}, {}, "storage_bandwidth", "100 MB/s is the most that device 8:0 gives"},
        Case{65.537e6, 1000, 1e8, {}, {}, "storage_bandwidth", "more than 64 KiB, it is bytes"},
        Case{65.536e6, 1000, 1e8, {}, {}, "storage_requests", "no more than 64 KiB, it is their number"},
        Case{1e8, 1000, 5.1e7, {}, {}, "storage_bandwidth", "smaller samples"},
        Case{
            1e8, 1000, 4.9e7, {}, {}, "storage_latency", "the job read 49.0 MB/s of the 100 MB/s that device 8:0 gave"},
        Case{0, 0, 0, {}, {}, "storage_latency", "the device below has no counters here"},
        Case{1e8, 1000, 1e8, 1.17e8, {}, "cgroup_io", "it lets 117 MB/s through"},
        Case{1e8, 1000, 1e8, 1.18e8, {}, "storage_bandwidth", ""},
        Case{1e8, 1000, 2e8, {}, 1170, "cgroup_io", "it lets 1.17 k/s reads through"},
        Case{1e8, 1000, 2e8, {}, 1180, "storage_bandwidth", ""}}) {
    Observation seen;
    seen.storage = {.device = "8:0",
                    .seconds = 10,
                    .read_rate = c.bytes,
                    .requests = c.requests,
                    .request_bytes = c.requests > 0 ? c.bytes / c.requests : 0};
    seen.storage.own_rate = c.own;
    seen.storage.limit_bytes = c.most_bytes;
    seen.storage.limit_requests = c.most_requests;
    const std::vector<Share> shares{{.name = "reading", .value = 0.9}};
    const Limit limit = storage_limit({}, seen, {.who = "workers", .shares = shares});
    EXPECT_EQ(limit.id, c.id) << proof_of(limit);
    EXPECT_NE(proof_of(limit).find(c.words), std::string::npos) << proof_of(limit);
    EXPECT_EQ(proof_of(limit).find("in a throttle"), std::string::npos);
    seen.storage.queue = 0.9;
    seen.storage.waiting_threads = 2;
    EXPECT_EQ(proof_of(storage_limit({}, seen, {.who = "workers", .shares = shares})).find("in a throttle") ==
                  std::string::npos,
              limit.id == "storage_latency" || limit.id == "cgroup_io");
  }
}

TEST(StorageLimit, NamesTheStorageAndTheDataSet) {
  const std::vector<Share> shares{{.name = "reading", .value = 0.3}};
  Observation seen;
  const auto limit = [&](bool one = false) {
    return storage_limit({}, seen, {.who = one ? "the main thread" : "workers", .one = one, .shares = shares});
  };
  EXPECT_EQ(limit().sentence, "Reads from storage are the limit: workers wait for them");
  EXPECT_EQ(limit().command, "headrace rehearse job.yaml --tune");
  EXPECT_NE(proof_of(limit()).find("more workers: more reads"), std::string::npos);
  EXPECT_NE(proof_of(limit(true)).find("worker processes (num_workers): more reads"), std::string::npos);
  seen.data.file_system = "nfs4";
  seen.data.folder = "/d";
  EXPECT_EQ(limit().sentence, "Reads from storage (nfs4) are the limit: workers wait for them");
  EXPECT_EQ(limit().command, "headrace rehearse job.yaml --data /d --tune");
  seen.data.folder = "/it's\n\xe9";
  EXPECT_EQ(limit().command, R"(headrace rehearse job.yaml --data $'/it\'s\n\xe9' --tune)");
  seen.storage = {.read_rate = 0.9, .requests = 0.9, .request_bytes = 1};
  seen.storage.own_rate = 0.9;
  const auto has_rates = [&] { return proof_of(limit()).find("of the time it had some to do") != std::string::npos; };
  EXPECT_EQ(limit().id, "storage_latency") << "without a device nothing is counted";
  EXPECT_FALSE(has_rates());
  seen.storage.device = "8:0";
  EXPECT_EQ(limit().id, "storage_requests") << "however little was read";
  EXPECT_TRUE(has_rates());
  seen.storage.own_rate.reset();
  EXPECT_EQ(limit().id, "storage_latency");
  seen.storage.requests = 0;
  EXPECT_FALSE(has_rates());
  seen.storage = {.device = "8:0", .read_rate = 1e8, .requests = 1000, .request_bytes = 1e5, .queue = 0.9};
  seen.storage.own_rate = 1e8;
  seen.storage.waiting_threads = 1.7;
  EXPECT_EQ(proof_of(limit()).find("in a throttle"), std::string::npos) << "more than half of the readers' requests";
  seen.storage.limit_bytes = 1e8;
  EXPECT_NE(proof_of(limit()).find("100 MB/s of them were used"), std::string::npos);
  seen.storage.limit_bytes.reset();
  seen.storage.limit_requests = 1000;
  EXPECT_NE(proof_of(limit()).find("1.00 k/s of them were used"), std::string::npos) << proof_of(limit());
}

TEST(ScarceOf, IsTheCountThatExplainsTheTimeOfTheDevice) {
  const WaitCounts kMixed = counts({{Wait::read, 61}, {Wait::running, 39}, {Wait::hand_over, 500}, {Wait::sleep, 500}});
  const auto scarce = [&](double per_request_s, double per_byte_s, double request_bytes, const WaitCounts& found,
                          double noise_s = 0.001) {
    std::vector<Slice> slices(10);
    std::vector<const Slice*> all;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const double requests = 10.0 + static_cast<double>(i * 3 % 5), bytes = 1e5 * static_cast<double>(1 + i % 4);
      slices[i].processes.resize(1);
      slices[i].processes[0].lead = found;
      if (i > 0)
        add_group(slices[i].devices["8:0"].pace,
                  per_request_s * requests + per_byte_s * bytes + noise_s * static_cast<double>(i % 2), requests,
                  bytes);
      all.push_back(&slices[i]);
    }
    std::string why;
    const Scarce found_scarce = scarce_of(all, {.device = "8:0", .request_bytes = request_bytes}, why);
    const bool by_size = why.find("by the size of a request") != std::string::npos;
    return std::pair(found_scarce == Scarce::bytes ? "bytes" : "requests", by_size);
  };
  using Found = std::pair<const char*, bool>;
  const auto is = [](const Found& found, const char* what, bool by_size) {
    EXPECT_STREQ(found.first, what);
    EXPECT_EQ(found.second, by_size);
  };
  is(scarce(0, 1e-6, 1, kMixed), "bytes", false);
  is(scarce(0.02, 0, 1e6, kMixed), "requests", false);
  is(scarce(0.012, 5.8e-7, 1, kMixed, 0.08), "requests", true);
  is(scarce(0.012, 5.8e-7, 1e6, kMixed, 0.08), "bytes", true);  // half and half: the size decides
  is(scarce(0, 1e-6, 1, counts({{Wait::read, 59}, {Wait::running, 41}})), "requests", true);
  is(scarce(0, 1e-6, 1, counts({{Wait::name, 20}, {Wait::write, 21}, {Wait::fault, 20}, {Wait::other, 39}})), "bytes",
     false);
}

TEST(StorageLimit, NamesTheWaitingOfAClient) {
  const std::vector<Share> shares{{.name = "reading", .value = 0.3}, {.name = "opening", .value = 0.4}};
  Observation seen;
  seen.data.file_system = "fuse";
  const auto limit = [&] { return storage_limit({}, seen, {.who = "the main thread", .one = true, .shares = shares}); };
  EXPECT_EQ(limit().id, "slow_opens");
  EXPECT_EQ(limit().sentence,
            "Opening files is the limit: the main thread waits for names and attributes longer than for bytes");
  seen.storage.client = ClientSeen{.read_rate = 1e6, .at_daemon = 2.5};
  EXPECT_EQ(limit().proof[0], "its client got 1.00 MB/s from servers");
  EXPECT_EQ(limit().proof[1], "the file system's daemon (FUSE) had 2.5 requests to answer on average");
  seen.storage.client = ClientSeen{.read_rate = 0.9, .at_daemon = {}};
  EXPECT_NE(proof_of(limit()).find("its client got 0.900 B/s"), std::string::npos) << proof_of(limit());
  seen.storage.client->queue_s = 1;
  EXPECT_EQ(limit().id, "slow_opens") << "without reads of its own none waits";
  seen.storage.client->reads = 0.9;
  EXPECT_EQ(limit().id, "nfs_slots");
  EXPECT_NE(proof_of(limit()).find("the NFS client sent"), std::string::npos);
  seen.storage.client = ClientSeen{.reads = 10, .queue_s = 0.049, .took_s = 0.1, .at_daemon = {}};
  EXPECT_EQ(limit().id, "slow_opens");
  seen.storage.client->queue_s = 0.051;
  EXPECT_EQ(limit().id, "nfs_slots");
  for (const auto& [waiting, words] : {std::pair(0.4, "max_session_slots"), std::pair(0.6, "nconnect")}) {
    seen.storage.client->waiting = waiting;
    EXPECT_NE(proof_of(limit()).find(words), std::string::npos) << proof_of(limit());
  }
}

TEST(ProcessorLimit, FollowsFromFreeProcessorsQuotaAndQueues) {
  struct Case {
    double idle, queued, throttled, used;
    std::optional<double> quota;
    bool machine;
    const char* id;
  };
  for (const Case& c : {Case{3, 0.2, 0, 1, {}, true, "workers"}, Case{3, 0.3, 0, 1, {}, true, "processor"},
                        Case{0.45, 0, 0, 1, {}, true, "processor"}, Case{0.55, 0, 0, 1, {}, true, "workers"},
                        Case{3, 0, 0.045, 1, {}, true, "workers"}, Case{3, 0, 0.055, 1, {}, true, "cgroup_cpu"},
                        Case{3, 0, 0, 3.3, 4.0, true, "workers"}, Case{3, 0, 0, 3.5, 4.0, true, "cgroup_cpu"},
                        Case{0, 0, 1, 1, {}, false, "workers"}}) {
    Observation seen;
    seen.idle_cpus = c.idle;
    seen.throttled = c.throttled;
    seen.used_cpus = c.used;
    seen.quota_cpus = c.quota;
    EXPECT_EQ(processor_limit(seen, 0.8, c.queued, c.machine, {.who = "workers", .shares = {}}).id, c.id);
  }
}

TEST(ProcessorLimit, IsWhereAQuarterOfTheWorkGetsNoProcessor) {
  Observation seen;
  seen.idle_cpus = 3;
  EXPECT_EQ(processor_limit(seen, 0.3, 0.12, true, {.who = "workers", .shares = {}}).id, "processor");
  EXPECT_EQ(processor_limit(seen, 0.3, 0.08, true, {.who = "workers", .shares = {}}).id, "workers");
}

/// A job whose training always gets its data, and whose main thread spends its time so; the first looks see it read.
struct Fed : Job {
  Fed() : Job(0, 0, 0) {}
  std::string limit(double own, double in_gpu, double pause, std::size_t stretches = 0) {
    seen.training = {{.name = "queued"},
                     {.name = "processor", .value = own},
                     {.name = "gpu", .value = in_gpu},
                     {.name = "pause", .value = pause}};
    for (std::size_t i = 0; i < 40; ++i) recording.slices[i].processes[0].stretches[5] = i < stretches;
    return find_limit(recording, slices, seen).id;
  }
};

TEST(FindLimit, IsAMainThreadThatComputesMoreThanItsGpuIsAwaited) {
  Fed job;
  EXPECT_EQ(job.limit(0.31, 0.1, 0.2), "main_process");
  EXPECT_EQ(job.limit(0.29, 0.1, 0.2), "consumer");
  EXPECT_EQ(job.limit(0.79, 0.1, 0.11), "main_process");
  EXPECT_EQ(job.limit(0.81, 0.1, 0.09), "consumer") << "it may spin until its GPU is ready";
  EXPECT_EQ(job.limit(0.4, 0, 0.11), "main_process");
  job.seen.gpus = {gpu(0.5)};
  EXPECT_EQ(job.limit(0.79, 0.1, 0.11), "consumer") << "a GPU that is half busy proves nothing";
}

TEST(FindLimit, OfAMainThreadThatReadsItselfIsNotReportedWhereItMayTrain) {
  Fed job;
  job.seen.roles.in_process = true;
  EXPECT_EQ(job.limit(0.51, 0, 0, 8), "unknown");
  EXPECT_EQ(job.limit(0.51, 0, 0, 7), "consumer") << "seven reads are none of data";
  EXPECT_EQ(job.limit(0.49, 0, 0, 8), "consumer");
  job.seen.gpus = {gpu(0.5)};
  EXPECT_EQ(job.limit(0.51, 0, 0, 8), "unknown");
  job.seen.gpus = {gpu(0.53)};
  EXPECT_EQ(job.limit(0.51, 0, 0, 8), "consumer") << "its GPU is busy for more than half of the time";
  job.seen.gpus.clear();
  job.seen.roles.making = 4;
  EXPECT_EQ(job.limit(0.51, 0, 0, 8), "consumer") << "what it makes is known";
  job.seen.roles.making = 0;
  job.seen.roles.in_process = false;
  EXPECT_EQ(job.limit(0.51, 0, 0, 8), "consumer");
}

/// Where the time of makers went.
using Parts = std::initializer_list<std::pair<const char*, double>>;
std::vector<Share> parts(Parts laid) {
  std::vector<Share> shares;
  for (const auto& [name, value] : laid) shares.push_back({.name = name, .value = value});
  return shares;
}

TEST(FindLimit, FollowsFromWhereWorkersSpendTheirTime) {
  Job job(60, 60, 0);
  job.seen.idle_cpus = 3;
  const auto limit = [&](Parts laid) {
    job.seen.workers = parts(laid);
    return find_limit(job.recording, job.slices, job.seen).id;
  };
  EXPECT_EQ(limit({{"processor", 0.5}, {"interpreter_lock", 0.3}}), "interpreter_lock");
  EXPECT_EQ(limit({{"processor", 0.5}, {"interpreter_lock", 0.2}}), "workers")
      << "the lock is awaited for less than half of it";
  EXPECT_EQ(limit({{"processor", 0.3}, {"interpreter_lock", 0.3}, {"reading", 0.7}}), "storage_latency");
  EXPECT_EQ(limit({{"writing", 0.3}, {"processor", 0.25}}), "storage_latency");
  EXPECT_EQ(limit({{"reading", 0.5}, {"processor", 0.3}, {"queued", 0.3}}), "processor");
  EXPECT_EQ(limit({{"queued", 0.3}}), "processor");
  EXPECT_EQ(limit({{"processor", 0.25}}), "workers");
  EXPECT_EQ(limit({{"processor", 0.15}}), "hand_over");
  job.seen.idle_cpus = 0.7;
  EXPECT_EQ(limit({{"processor", 0.5}, {"interpreter_lock", 0.3}}), "interpreter_lock");
  job.seen.idle_cpus = 0.4;
  EXPECT_EQ(limit({{"processor", 0.3}, {"interpreter_lock", 0.55}}), "processor")
      << "where none is free, one that waits keeps the lock";
  EXPECT_EQ(limit({{"processor", 0.3}, {"interpreter_lock", 0.65}}), "interpreter_lock");
  job.seen.idle_cpus = 3;
  for (const auto& [ranks, used, id] : {std::tuple(1, 1.1, "interpreter_lock"), std::tuple(1, 1.3, "workers"),
                                        std::tuple(2, 2.3, "interpreter_lock"), std::tuple(2, 2.5, "workers")}) {
    job.seen.roles.consumers_at_once = ranks;
    job.seen.used_cpus = used;
    EXPECT_EQ(limit({{"processor", 0.5}, {"interpreter_lock", 0.3}}), id) << used << " processors of " << ranks;
  }
}

TEST(FindLimit, IsAThreadThatCarriesOnlyWhereItWorksAndWorkersWait) {
  Job job(80, 80, 0);
  const auto carries = [&](Found thread, double workers_wait, bool has_thread = true) {
    job.recording.threads = {{.process = 0, .tid = 9, .name = "pin_memory"}};
    job.seen.roles.threads = has_thread ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{};
    for (Slice& slice : job.recording.slices) slice.processes[0].threads = {{.thread = 0, .waits = counts(thread)}};
    job.seen.workers = parts({{"consumer", workers_wait}, {"reading", 1 - workers_wait}});
    return find_limit(job.recording, job.slices, job.seen).sentence.find("carries") != std::string::npos;
  };
  EXPECT_TRUE(carries({{Wait::running, 6}, {Wait::lock, 6}, {Wait::hand_over, 8}}, 0.6));
  EXPECT_FALSE(carries({{Wait::running, 9}, {Wait::hand_over, 11}}, 0.6));
  EXPECT_FALSE(carries({{Wait::running, 18}, {Wait::hand_over, 2}}, 0.4)) << "workers do not wait";
  EXPECT_FALSE(carries({{Wait::running, 20}}, 0.6, false));
}

TEST(FindLimitWithoutWorkers, IsTheLargestShareOfTheMainThread) {
  Alone job;
  job.lay(looks({{Wait::hand_over, 87}, {Wait::sleep, 13}}, {{Wait::hand_over, 17}}), false);
  const auto limit = [&](Parts laid) {
    job.seen.consumer = parts(laid);
    return job.limit();
  };
  EXPECT_EQ(limit({{"making", 0.4}, {"reading", 0.3}, {"waiting_for_loader", 0.1}}).id, "main_process");
  EXPECT_EQ(limit({{"making", 0.4}, {"reading", 0.3}, {"waiting_for_loader", 0.2}, {"interpreter_lock", 0.25}}).id,
            "interpreter_lock");
  EXPECT_EQ(limit({{"making", 0.3}, {"reading", 0.4}, {"waiting_for_loader", 0.2}}).id, "storage_latency");
  EXPECT_NE(limit({{"making", 1}}).sentence.find("decodes and collates"), std::string::npos);
  job.seen.gpus = {gpu(0.2)};
  job.lay(looks({{Wait::sleep, 100}}), false);
  EXPECT_NE(job.limit().sentence.find("computes between batches"), std::string::npos);
}

TEST(FindLimit, OfATraceOfCallsAloneIsNotReported) {
  Job job(60, 60, 0);
  job.recording.waits_known = false;
  EXPECT_EQ(job.limit(), "unknown");
  EXPECT_EQ(find_limit(job.recording, job.slices, job.seen).proof.size(), 1u);
  job.seen.workers.clear();
  EXPECT_TRUE(find_limit(job.recording, job.slices, job.seen).proof.empty());
}

TEST(FindLimit, CountsTimeWithoutAProcessorWhereItIsMuchOfTheComputing) {
  Job job(5, 5, 0);
  const auto limit = [&](const Share& queued, double processor, double making = 0, double still = 0) {
    job.seen.training = {queued, {.name = "processor", .value = processor}, {.name = "making", .value = making}};
    job.seen.standing_still = {.name = "standing_still", .value = still, .low = still, .high = still};
    return find_limit(job.recording, job.slices, job.seen);
  };
  const Share fifth{.name = "queued", .value = 0.2, .low = 0.2, .high = 0.2};
  EXPECT_EQ(limit(fifth, 0.3).id, "processor");
  EXPECT_NE(limit(fifth, 0.3, 0.2).id, "processor") << "less than half of what it computes and makes";
  const auto says = [](const Limit& found, const char* words) {
    return found.proof[0].find(words) != std::string::npos;
  };
  EXPECT_TRUE(says(limit(fifth, 0.3, 0, 0.5), "10 % [10, 10] for a processor")) << "saves take half of the time";
  EXPECT_TRUE(says(limit({.name = "queued", .value = 0.007}, 0), "for a processor"));
  EXPECT_FALSE(says(limit({.name = "queued", .value = 0.004}, 0), "for a processor"));
  const auto doubt = [&](double low, double high) {
    return says(limit({.name = "queued", .value = 0, .low = low, .high = high}, 0), "is unknown");
  };
  EXPECT_TRUE(doubt(0, 0.06));
  EXPECT_FALSE(doubt(0, 0.04));
  EXPECT_FALSE(doubt(0.06, 0.06));
  EXPECT_EQ(Job(15, 15, 0).limit(), "storage_latency") << "a seventh of the time";
}

TEST(FindLimit, IsTheSavesOnlyWhereTrainingStarvesInThemClearly) {
  EXPECT_EQ(Job(50, 20, 4).limit(), "checkpoint_interference");
  EXPECT_EQ(Job(40, 19, 4).limit(), "checkpoint_interference");
  EXPECT_EQ(Job(25, 15, 4).limit(), "storage_latency") << "less than twice as much";
  EXPECT_EQ(Job(60, 9, 1).limit(), "checkpoint_interference") << "without saves it would not starve";
  EXPECT_EQ(Job(90, 12, 1).limit(), "storage_latency") << "it starves in the rest of the time, and longer";
  EXPECT_EQ(Job(50, 50, 1, true).limit(), "storage_latency") << "though it stands still for saves, too";
  EXPECT_EQ(Job(15, 15, 1, true).limit(), "storage_latency");
  const auto with_waits = [](Job job, const std::function<std::uint32_t(std::size_t)>& waits) {
    for (std::size_t i = 0; i < job.recording.slices.size(); ++i) {
      ProcessSlice& lead = job.recording.slices[i].processes[0];
      lead.lead = counts({{Wait::hand_over, waits(i)}, {Wait::sleep, kLooks - waits(i)}});
    }
    return job;
  };
  const auto scattered = [](std::size_t i) { return i < 16 || i >= 24 ? 10u : i % 2 * 100; };
  EXPECT_EQ(Job(with_waits(Job(0, 0, 2), scattered)).limit(), "storage_latency") << "its bounds hold both";
  Job always(30, 0, 6);
  always.recording.saves[0].begin_s = 0.5;
  EXPECT_EQ(always.limit(), "storage_latency") << "saves nearly all the time";
  Job brief = with_waits(Job(0, 0, 0), [](std::size_t i) { return i < 8 ? 90u : 0u; });
  brief.recording.saves.clear();
  for (int i = 0; i < 8; ++i) brief.recording.saves.push_back({.begin_s = i * 0.25, .end_s = i * 0.25 + 0.1});
  EXPECT_EQ(brief.limit(), "storage_latency") << "each save takes less than half of a slice";
}

TEST(FindLimit, OfACommandThatEndedAtOnceIsNotReported) {
  Job job(60, 60, 0);
  job.recording.ended = "with exit code 1";
  job.recording.elapsed_s = 9;
  EXPECT_EQ(job.limit(), "storage_latency") << "batches were taken for long enough";
  job.slices.clear();
  EXPECT_EQ(find_limit(job.recording, job.slices, job.seen).sentence,
            "The command ended after 9.0 s with exit code 1: too short to judge");
  job.seen.roles.consumers.clear();
  EXPECT_NE(find_limit(job.recording, job.slices, job.seen).advice[0].find("a minute or more"), std::string::npos);
  job.recording.elapsed_s = 11;
  EXPECT_EQ(find_limit(job.recording, job.slices, job.seen).sentence,
            "The limit is unknown: no process was seen taking batches");
}

/// Slices of one process, of which so many looks in a hundred are found waiting.
std::vector<Slice> slices_of(const std::vector<std::uint32_t>& waits) {
  std::vector<Slice> slices(waits.size());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    slices[i].begin_s = 0.25 * static_cast<double>(i);
    slices[i].end_s = slices[i].begin_s + 0.25;
    slices[i].processes = {looks({{Wait::hand_over, waits[i]}, {Wait::sleep, kLooks - waits[i]}})};
  }
  return slices;
}
Share waiting_in(const std::vector<std::uint32_t>& waits) {
  const std::vector<Slice> slices = slices_of(waits);
  std::vector<const Slice*> all;
  for (const Slice& slice : slices) all.push_back(&slice);
  Roles roles;
  roles.consumers = {0};
  return *share_named(consumer_shares(all, roles), "waiting_for_loader");
}

TEST(ShareOver, HasBoundsOfThreePartsOrMore) {
  const Share three = waiting_in({40, 50, 60});
  EXPECT_DOUBLE_EQ(three.value, 0.5);
  EXPECT_NEAR(three.low, 0.5 - 4.302652730 * 0.1 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(three.high, 0.5 + 4.302652730 * 0.1 / std::sqrt(3.0), 1e-6);
  for (const Share& few : {waiting_in({40, 60}), waiting_in({})}) {
    EXPECT_EQ(few.low, 0);
    EXPECT_EQ(few.high, 1);
  }
  EXPECT_EQ(waiting_in({}).value, 0);
  EXPECT_EQ(waiting_in({100, 100, 50}).high, 1);
  std::vector<std::uint32_t> in_turns(40);
  for (std::size_t i = 0; i < 40; ++i) in_turns[i] = i % 2 * 100;
  EXPECT_NEAR(waiting_in(in_turns).high, 0.5, 1e-9) << "parts of two slices each are alike";
}

TEST(ConsumerShares, AreTheLooksAtTheFirstThread) {
  ProcessSlice one =
      looks({{Wait::hand_over, 40}, {Wait::running, 40}, {Wait::lock, 10}, {Wait::other, 6}, {Wait::gpu, 4}},
            {{Wait::other, 1}, {Wait::hand_over, 3}});
  one.stretches = {3, 4, 50};
  one.counted.queued_s = 0.25 * 0.05;
  Slice slice;
  slice.end_s = 0.25;
  slice.processes = {one};
  Roles roles;
  roles.consumers = {0};
  roles.making = 2;
  const auto share = [&](const char* name) { return value_of(consumer_shares({&slice}, roles), name); };
  EXPECT_DOUBLE_EQ(share("waiting_for_loader"), 0.3) << "for a quarter of it other threads compute for it";
  EXPECT_DOUBLE_EQ(share("making"), 0.07);
  EXPECT_DOUBLE_EQ(share("queued"), 0.05);
  EXPECT_DOUBLE_EQ(share("processor"), 0.4 - 0.05 - 0.07 + 0.1);
  EXPECT_DOUBLE_EQ(share("other"), 0.06);
  const auto starved = [&] { return starving(slice, roles).part; };
  EXPECT_DOUBLE_EQ(starved(), 30 + 10);
  roles.in_process = true;
  EXPECT_DOUBLE_EQ(starved(), 30 + 10 + 7) << "what it makes itself";
}

TEST(BesideSaves, AreTheSlicesThatNoSaveTouches) {
  std::vector<Slice> slices = slices_of(std::vector<std::uint32_t>(8, 0));
  std::vector<const Slice*> all;
  for (const Slice& slice : slices) all.push_back(&slice);
  Recording recording;
  const auto left = [&](double begin_s, double end_s) {
    recording.saves = {{.begin_s = begin_s, .end_s = end_s, .bytes = 1, .lead_bytes = 1}};
    return beside_saves(recording, all).size();
  };
  EXPECT_EQ(left(0.6, 0.7), 7u);
  EXPECT_EQ(left(0.6, 0.8), 6u);
  EXPECT_EQ(left(0, 1.2), 3u);
  EXPECT_EQ(left(0, 1.3), 8u) << "two are too few: all of them";
  EXPECT_EQ(left(3, 4), 8u);
  recording.saves.push_back(recording.saves[0] = {.begin_s = 0, .end_s = 2, .bytes = 1, .lead_bytes = 1});
  EXPECT_EQ(standing_still(recording, all).value, 1) << "two saves at once take no more than the time";
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
  const auto reading = [&](Found second) {
    for (Slice& slice : job.recording.slices) slice.processes[2].lead = counts(second);
    return value_of(worker_shares(job.slices, job.seen.roles), "reading");
  };
  EXPECT_DOUBLE_EQ(reading({{Wait::hand_over, 49}, {Wait::running, 51}}), 0.5) << "half as busy as the other";
  EXPECT_DOUBLE_EQ(reading({{Wait::other, 51}, {Wait::running, 49}}), 1) << "another call is no work";
  EXPECT_DOUBLE_EQ(reading({{Wait::hand_over, 10}, {Wait::other, 45}, {Wait::running, 45}}), 1);
}

TEST(WorkerShares, HaveTheComputingOfItsThreadsAndNotTheWaitForAProcessor) {
  Job job(60, 60, 0);
  for (Slice& slice : job.recording.slices) {
    slice.processes[1].lead = counts({{Wait::hand_over, 40}, {Wait::running, 50}, {Wait::other, 6}, {Wait::gpu, 4}});
    slice.processes[1].behind = counts({{Wait::running, 1}, {Wait::other, 1}, {Wait::read, 2}});
    slice.processes[1].counted.queued_s = 0.2 * slice.seconds();
  }
  const std::vector<Share> shares = worker_shares(job.slices, job.seen.roles);
  EXPECT_NEAR(value_of(shares, "processor"), 0.5 - 0.2 + 0.1 + 0.1, 1e-9);
  EXPECT_NEAR(value_of(shares, "reading"), 0.2, 1e-9);
  EXPECT_NEAR(value_of(shares, "queued"), 0.2, 1e-9);
  EXPECT_NEAR(value_of(shares, "other"), 0.1, 1e-9);
  for (Slice& slice : job.recording.slices) slice.processes[1].behind = counts({{Wait::read, 1}});
  EXPECT_EQ(value_of(worker_shares(job.slices, job.seen.roles), "consumer"), 0)
      << "one look shows that a thread reads for it";
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
