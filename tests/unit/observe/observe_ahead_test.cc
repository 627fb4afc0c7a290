// How many batches lie ready, from a loader whose numbers are laid.
#include "harness/observe/learning/ahead.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headrace::observe::observe_ahead_test {
namespace {

/// As calls that were written down give it: a process that takes a batch of 8 every 0.1 s in two calls, and workers that have read `each` batches more than was taken.
/// Each sample has 1000 bytes.
Recording laid(unsigned workers, unsigned each, bool waiting = true, double first_s = 0.2) {
  Recording recording;
  recording.machine_seen = false;
  recording.processes = {{.pid = 1}};
  for (unsigned w = 0; w < workers; ++w)
    recording.processes.push_back({.pid = static_cast<int>(10 + w), .parent = 0, .first_s = first_s});
  for (int i = 0; i < 20; ++i) {
    Slice slice;
    slice.begin_s = i * 0.2;
    slice.end_s = slice.begin_s + 0.2;
    ProcessSlice taker;
    taker.looked_calls = 4;  // two batches in each
    slice.processes.push_back(taker);
    for (unsigned w = 0; w < workers; ++w) {
      ProcessSlice worker;
      worker.process = 1 + w;
      worker.lead[static_cast<std::size_t>(waiting ? Wait::hand_over : Wait::read)] = 20;
      const unsigned ready = i == 0 ? each * workers : 0;
      worker.counted.read_calls_bytes = (ready + 2) * 8 * 1000 / workers;
      slice.processes.push_back(worker);
    }
    recording.slices.push_back(slice);
  }
  return recording;
}

Roles roles_of(unsigned workers) {
  Roles roles;
  roles.consumers = {0};
  for (unsigned w = 0; w < workers; ++w) roles.workers.push_back(1 + w);
  return roles;
}

std::optional<Ahead> found(const Recording& recording, Roles roles, double calls, double sample_size, double spread,
                           std::string& why) {
  roles.generations = generations_of(recording, roles.workers);
  return find_ahead(recording, roles, calls, sample_size, spread, why);
}

TEST(FindAhead, ReportsTheBatchAndHowManyLieReady) {
  std::string why;
  for (const unsigned each : {1u, 2u, 4u}) {
    const auto ahead = found(laid(4, each), roles_of(4), 2, 1000, 0, why);
    ASSERT_TRUE(ahead) << why;
    EXPECT_NEAR(ahead->batch, 8, 1e-6);
    EXPECT_LT(ahead->batch_error, 1e-3);
    ASSERT_TRUE(ahead->each) << each;
    EXPECT_EQ(*ahead->each, each);
  }
}

TEST(FindAhead, ReportsNoNumberWhereOneBatchMoreWouldMakeAnother) {
  std::string why;
  const auto uneven = found(laid(2, 2), roles_of(2), 2, 1000, 2, why);  // sizes that show little of counts
  ASSERT_TRUE(uneven);
  EXPECT_FALSE(uneven->each);
}

TEST(FindAhead, SaysWhyItCannotDecide) {
  std::string why;
  EXPECT_FALSE(found(laid(2, 2, false), roles_of(2), 2, 1000, 0, why));
  EXPECT_NE(why.find("rarely waited"), std::string::npos) << why;
  EXPECT_FALSE(found(laid(2, 2, true, 0), roles_of(2), 2, 1000, 0, why));
  EXPECT_NE(why.find("before the watching"), std::string::npos) << why;
  EXPECT_FALSE(found(laid(2, 2), roles_of(2), 0, 1000, 0, why));
}

TEST(FindAhead, LooksAtTheFirstOfWorkersThatAreStartedAnew) {
  std::string why;
  Recording recording = laid(4, 2);
  // From 2 s on there are others, which have another number of batches ready.
  recording.processes.push_back({.pid = 90, .parent = 0, .first_s = 2.05});
  for (Slice& slice : recording.slices)
    if (slice.begin_s > 2) slice.processes[1].counted.read_calls_bytes += 8000;
  Roles roles = roles_of(4);
  roles.workers.push_back(5);
  const auto ahead = found(recording, roles, 2, 1000, 0, why);
  ASSERT_TRUE(ahead) << why;
  EXPECT_EQ(ahead->workers, 4u);
  ASSERT_TRUE(ahead->each);
  EXPECT_EQ(*ahead->each, 2);
}

TEST(FindAhead, IsNotMisledByWhatElseIsReadWithEachSample) {
  std::string why;
  Recording recording = laid(4, 2);
  // Paths and answers: a hundredth more of all that is read.
  for (Slice& slice : recording.slices)
    for (ProcessSlice& one : slice.processes) one.counted.read_calls_bytes += one.counted.read_calls_bytes / 100;
  const auto ahead = found(recording, roles_of(4), 2, 1000, 0, why);
  ASSERT_TRUE(ahead) << why;
  ASSERT_TRUE(ahead->each);
  EXPECT_EQ(*ahead->each, 2);
}

/// As looks give it: batches of 8 samples of 100 kB, one taken each 0.1 s in two calls; at each moment workers wait.
struct Looked {
  Recording recording;
  Roles roles;
  double at_s = 0;
  std::uint64_t calls = 0;  // that the process that takes had read by

  /// A generation that takes `batches`, of which `left` are never taken; each worker read `other` bytes before its first sample.
  void generation(unsigned workers, unsigned each, unsigned batches, unsigned left = 0, std::uint64_t other = 0) {
    if (recording.processes.empty()) {
      recording.processes = {{.pid = 1, .command = "python3 train.py"}};
      roles.consumers = {0};
    }
    at_s += 2;
    const auto first = static_cast<std::uint32_t>(recording.processes.size());
    for (unsigned w = 0; w < workers; ++w) {
      roles.workers.push_back(first + w);
      recording.processes.push_back({.pid = 10, .parent = 0, .command = "python3 train.py", .first_s = at_s});
    }
    for (unsigned taken = 0; taken <= batches - left; ++taken, at_s += 0.1) {
      if (taken > 0) {
        calls += 2;
        recording.taken.push_back({.at_s = at_s, .process = 0, .calls = calls});
      }
      Still still{.at_s = at_s + 0.05};
      still.counts[still.count++] = {.process = 0, .value = calls};
      const unsigned read = std::min(batches, taken + each * workers);
      for (unsigned w = 0; w < workers; ++w)
        still.counts[still.count++] = {.process = first + w, .value = other + read * 800000ull / workers};
      recording.stills.push_back(still);
    }
  }
  std::optional<Ahead> ahead(double spread = 0) {
    std::string why;
    return found(recording, roles, 2, 1e5, spread, why);
  }
};

TEST(FindAheadFromLooks, AgreesAtTheBeginAndAtTheEnd) {
  for (const unsigned each : {1u, 2u, 5u}) {
    Looked looked;
    looked.generation(2, each, 60);
    const auto ahead = looked.ahead(0.2);
    ASSERT_TRUE(ahead && ahead->each) << each;
    EXPECT_EQ(*ahead->each, each);
    EXPECT_TRUE(ahead->to_the_end);
    EXPECT_NEAR(ahead->batch, 8, 1e-6);
  }
}

TEST(FindAheadFromLooks, ReportsNoNumberWhereTheLoaderIsLeftInTheMidst) {
  Looked looked;
  looked.generation(2, 3, 60, 10);
  const auto ahead = looked.ahead();
  ASSERT_TRUE(ahead);
  // What a worker read before its first sample may have been more than a batch.
  EXPECT_FALSE(ahead->each);
  EXPECT_LT(ahead->each_low, 1);
  EXPECT_GE(ahead->each_high, 3);
}

TEST(FindAheadFromLooks, TakesTheEndOfAnEpochOfThoseThatTheLastIsNot) {
  Looked looked;
  looked.generation(2, 3, 40);
  looked.generation(2, 3, 40);
  looked.generation(2, 3, 40, 8);
  const auto ahead = looked.ahead();
  ASSERT_TRUE(ahead && ahead->each);
  EXPECT_EQ(*ahead->each, 3);
}

TEST(FindAheadFromLooks, IsNotMisledByLibrariesThatWorkersRead) {
  Looked looked;
  looked.generation(2, 2, 60, 0, 4'000'000);  // five batches each
  const auto ahead = looked.ahead();
  ASSERT_TRUE(ahead);
  EXPECT_FALSE(ahead->each);
  EXPECT_LE(ahead->each_low, 2);
  EXPECT_GE(ahead->each_high, 2);
}

TEST(FindAheadFromLooks, IsNotMisledByWhatWhoTakesReadsBeforeTheFirstBatch) {
  Looked looked;
  looked.calls = 4;  // two batches, as it seems
  looked.generation(2, 2, 60);
  const auto ahead = looked.ahead();
  ASSERT_TRUE(ahead && ahead->each);
  EXPECT_EQ(*ahead->each, 2);
  Looked left;
  left.calls = 4;
  left.generation(2, 2, 60, 10);
  ASSERT_TRUE(left.ahead());
  EXPECT_FALSE(left.ahead()->each);
  EXPECT_LE(left.ahead()->each_low, 2);
  EXPECT_GE(left.ahead()->each_high, 2);
}

TEST(FindAheadFromLooks, ReportsNoNumberWhereNobodyWasSeenPausing) {
  Looked looked;
  looked.generation(2, 2, 60);
  looked.recording.taken.clear();
  const auto ahead = looked.ahead();
  ASSERT_TRUE(ahead);
  EXPECT_NEAR(ahead->batch, 8, 1e-6);
  EXPECT_FALSE(ahead->each);
  EXPECT_FALSE(std::isfinite(ahead->each_high));
}

TEST(FindAheadFromLooks, ReportsNoNumberOfWorkersThatWereNoticedLate) {
  Looked looked;
  looked.generation(2, 2, 60, 10);
  looked.recording.processes[1].age_s = 2;
  const auto ahead = looked.ahead();
  ASSERT_TRUE(ahead);
  EXPECT_FALSE(ahead->each);
  EXPECT_EQ(ahead->each_low, 0);
}

TEST(FindAheadFromLooks, CountsOneThatWasNoticedLateAmongThoseThatItWorksWith) {
  Looked looked;
  looked.generation(4, 3, 60);
  for (ProcessSeen& one : looked.recording.processes) one.last_s = looked.at_s;
  // Of four the last is noticed after fifteen batches were taken, and had run as long as the others: moments before have three.
  ProcessSeen& last = looked.recording.processes.back();
  last.first_s += 1.5;
  last.age_s = 1.5;
  for (Still& still : looked.recording.stills) still.count -= still.at_s < last.first_s ? 1 : 0;
  const auto ahead = looked.ahead();
  ASSERT_TRUE(ahead && ahead->each);
  EXPECT_EQ(ahead->workers, 4u);
  EXPECT_EQ(*ahead->each, 3);
  // Without its run time, it is one that came later; it works with them all the same.
  last.age_s = 0;
  ASSERT_TRUE(looked.ahead());
  EXPECT_EQ(looked.ahead()->workers, 4u);
}

TEST(FindAheadFromLooks, ReportsNothingWhereOthersReadSamplesToo) {
  Looked looked;
  looked.generation(4, 3, 60);
  looked.roles.workers.pop_back();
  EXPECT_FALSE(looked.ahead());
}

TEST(Generations, AreOneAfterTheOther) {
  Looked looked;
  looked.generation(2, 2, 20);
  looked.generation(3, 2, 20);
  for (std::size_t p = 1; p < 6; ++p) looked.recording.processes[p].last_s = p < 3 ? 4.1 : 9;
  const auto found = generations_of(looked.recording, looked.roles.workers);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].workers.size(), 2u);
  EXPECT_EQ(found[1].workers.size(), 3u);
  EXPECT_DOUBLE_EQ(found[0].end_s, found[1].begin_s);
}

}  // namespace
}  // namespace headrace::observe::observe_ahead_test
