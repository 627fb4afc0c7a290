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

}  // namespace
}  // namespace headrace::observe
