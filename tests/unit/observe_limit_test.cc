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
  job.seen.storage.client->queue_s = 0.001;
  job.seen.storage.client->round_trip_s = 0.049;
  const Limit slow = find_limit(job.recording, job.slices, job.seen);
  EXPECT_EQ(slow.id, "storage_latency");
  EXPECT_NE(slow.proof[2].find("49.0 ms until the server's answer"), std::string::npos) << slow.proof[2];
}

}  // namespace
}  // namespace headrace::observe
