// What limits, from shares of looks: of jobs whose slices are laid.
#include "harness/observe/limit.h"

#include <gtest/gtest.h>

#include "harness/observe/shares.h"

namespace headrace::observe {
namespace {

constexpr std::uint32_t kLooks = 100;

/// Ten seconds in 40 slices of a process that takes batches and one worker of it; training is waiting for data so many of a
/// hundred looks while a save is written, and so many else. The save lasts from 4 s on.
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
  EXPECT_NE(doubtful(24).proof[0].find("it may be training itself that limits"), std::string::npos);
  const Limit below = doubtful(16);
  EXPECT_EQ(below.id, "consumer");
  EXPECT_NE(below.proof[0].find("it may be what is waited for that limits"), std::string::npos) << below.proof[0];
  EXPECT_EQ(doubtful(80).proof[0].find("cannot be told"), std::string::npos);
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
  EXPECT_NE(find_limit(job.recording, job.slices, job.seen).sentence.find("nobody"), std::string::npos);
}

/// A GPU of the job, which was busy so much of the time.
GpuTold gpu(double busy) {
  GpuTold one{.pci_address = "0000:17:00.0", .name = "", .busy = {}, .memory_busy = {}, .own_busy = {}};
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

TEST(FindLimit, TellsATrainingThatItsMainThreadHoldsUp) {
  Job job(0, 0, 0);
  job.seen.gpus = {gpu(0.2)};
  const Limit limit = find_limit(job.recording, job.slices, job.seen);
  EXPECT_EQ(limit.id, "consumer");
  EXPECT_NE(limit.sentence.find("not its GPUs"), std::string::npos) << limit.sentence;
  EXPECT_NE(limit.proof.back().find("busy 20 %"), std::string::npos) << limit.proof.back();
  job.seen.gpus = {gpu(0.95)};
  EXPECT_EQ(find_limit(job.recording, job.slices, job.seen).sentence.find("not its GPUs"), std::string::npos);
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

}  // namespace
}  // namespace headrace::observe
