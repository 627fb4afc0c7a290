// How many batches lie ready, from a loader whose numbers are laid.
#include "harness/observe/learning/ahead.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

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

TEST(FindAhead, IsNotMisledByOtherReadsWithEachSample) {
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
  /// `uneven`: how far sizes scatter [B].
  void generation(unsigned workers, unsigned each, unsigned batches, unsigned left = 0, std::uint64_t other = 0,
                  std::uint64_t uneven = 0) {
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
        still.counts[still.count++] = {.process = first + w,
                                       .value = other + (read * 800000ull + uneven * (read * 7 % 5)) / workers};
      recording.stills.push_back(still);
    }
  }
  /// The consumer was last seen pausing that long before the end [s].
  void last_pause(double before_s) {
    std::erase_if(recording.taken, [&](const TakenBy& one) { return one.at_s > at_s - before_s; });
  }
  std::string why;
  std::optional<Ahead> ahead(double spread = 0) { return found(recording, roles, 2, 1e5, spread, why); }
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

TEST(FindAheadFromLooks, IsNotMisledByReadsOfTheConsumerBeforeTheFirstBatch) {
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

TEST(FindAheadFromLooks, ReportsNoNumberWithoutAPause) {
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

/// Those of weighted least squares, worked out by another program.
TEST(FindAheadFromLooks, HasBoundsOfSizesThatScatter) {
  struct Case {
    unsigned batches, left;
    double spread;
    std::uint64_t uneven;
    unsigned moments;
    double batch, error, low, high;
  };
  for (const Case& c : {Case{40, 0, 0.3, 60'000, 33, 7.994920576544, 0.033293866314, 2.826355588480, 3.396794021231},
                        Case{40, 0, 0, 60'000, 33, 7.994920576544, 0.033293866314, 3.001137386839, 3.172577062002},
                        Case{80, 0, 0.3, 250'000, 73, 7.995371973951, 0.042147441986, 3.061318193837, 3.693130144025},
                        Case{40, 15, 0.3, 60'000, 24, 7.983602073352, 0.054340938662, 2.774023431764, 3.413537999593},
                        Case{80, 15, 0, 250'000, 64, 7.990100059832, 0.051380961030, 3.108790123010, 3.557474809572}}) {
    Looked looked;
    looked.generation(2, 3, c.batches, c.left, 0, c.uneven);
    looked.recording.reads_exact = true;
    if (c.left > 0) looked.last_pause(1.2);
    const auto ahead = looked.ahead(c.spread);
    ASSERT_TRUE(ahead) << looked.why;
    EXPECT_EQ(ahead->moments, c.moments);
    EXPECT_EQ(ahead->to_the_end, c.left == 0);
    EXPECT_NEAR(ahead->batch, c.batch, 1e-9);
    EXPECT_NEAR(ahead->batch_error, c.error, 1e-9);
    EXPECT_NEAR(ahead->each_low, c.low, 1e-9);
    EXPECT_NEAR(ahead->each_high, c.high, 1e-9);
  }
}

/// Whose end is not seen: 3 batches of each lie ready, give or take half a sample of eight.
struct Left : Looked {
  Left() {
    generation(2, 3, 60, 15);
    last_pause(1.2);
  }
  void bounds(double low, double high) {
    const auto found = ahead();
    ASSERT_TRUE(found) << why;
    EXPECT_NEAR(found->each_low, low, 1e-9);
    EXPECT_NEAR(found->each_high, high, 1e-9);
  }
};

TEST(FindAheadFromLooks, AMebibyteOfAWorkersReadsMayBeNoSamples) {
  Left looked;
  const double half = 0.5 / 8;
  looked.bounds(3 - half - (1 << 20) / 1e5 / 8, 3 + half);
  looked.recording.processes[1].command = looked.recording.processes[2].command = "worker";
  looked.bounds(0, 3 + half);  // another program may have read any amount
  looked.recording.reads_exact = true;
  looked.bounds(3 - half, 3 + half);
  ASSERT_TRUE(looked.ahead()->each);
  EXPECT_EQ(*looked.ahead()->each, 3);
  looked.recording.processes[1].age_s = 0.2;
  looked.bounds(3 - half - 1, 3 + half);  // two batches in 0.2 s
}

TEST(FindAheadFromLooks, BatchesThatWereTakenBeforeTheFirstPauseWereReady) {
  const double half = 0.5 / 8;
  Left looked;
  looked.recording.reads_exact = true;
  looked.recording.processes.push_back({.pid = 9, .first_s = 1});
  const auto with = [&](const TakenBy& first) {
    Looked changed = looked;
    changed.recording.taken.insert(changed.recording.taken.begin(), first);
    return changed.ahead()->each_high;
  };
  EXPECT_NEAR(with({.at_s = 1, .process = 0, .calls = 20}), 3 + half, 1e-9) << "before there were workers";
  EXPECT_NEAR(with({.at_s = 2, .process = 1, .calls = 20}), 3 + half, 1e-9) << "by one that takes none";
  EXPECT_NEAR(with({.at_s = 2, .process = 0, .calls = 4}), 3.5 + half, 1e-9) << "one more, of two workers";
  looked.roles.consumers = {0, 3};
  EXPECT_NEAR(with({.at_s = 2, .process = 3, .calls = 6}), 4 + half, 1e-9) << "on average one more of each rank";
}

TEST(FindAheadFromLooks, SaysThatTooManyProcessesWereThereForMoments) {
  Recording recording = laid(4, 2);
  recording.machine_seen = true;
  recording.taken = {{.at_s = 0.3, .process = 0, .calls = 2}};
  std::string why;
  const auto ahead = found(recording, roles_of(4), 2, 1000, 0, why);
  ASSERT_TRUE(ahead);
  EXPECT_FALSE(std::isfinite(ahead->each_high));
  EXPECT_NE(why.find("too many processes"), std::string::npos) << why;
}

TEST(FindAheadFromLooks, LooksAtTheEndOfWorkersIfTheConsumerPausedInTheLastSecond) {
  const auto to_the_end = [](double before_s) {
    Looked looked;
    looked.generation(2, 3, 60);
    looked.last_pause(before_s);
    const auto ahead = looked.ahead();
    return ahead && ahead->to_the_end;
  };
  EXPECT_TRUE(to_the_end(0.3));
  EXPECT_FALSE(to_the_end(1.3));
  Looked second;
  second.generation(2, 3, 40, 10);
  second.last_pause(1.2);
  second.generation(2, 3, 40);
  EXPECT_TRUE(second.ahead()->to_the_end) << "of the second generation";
  // More was taken after the last read than can have been ready: something else was read.
  Looked more;
  more.generation(2, 3, 60);
  more.recording.taken.back().calls += 8;
  ASSERT_TRUE(more.ahead());
  EXPECT_FALSE(more.ahead()->each);
  EXPECT_GT(more.ahead()->each_high, 4);
}

TEST(FindAheadFromLooks, LeavesOutMomentsBeforeTheFirstBatch) {
  Looked looked;
  looked.generation(2, 3, 40);
  std::vector<Still> filling;
  for (const std::uint64_t read : {1u, 2u, 3u}) {
    Still still{.at_s = 2 + 0.01 * static_cast<double>(read), .count = 3};
    for (const std::uint32_t worker : {1u, 2u}) still.counts[worker] = {.process = worker, .value = read * 100'000};
    filling.push_back(still);
  }
  looked.recording.stills.insert(looked.recording.stills.begin(), filling.begin(), filling.end());
  EXPECT_EQ(looked.ahead()->moments, 33u);
  EXPECT_EQ(*looked.ahead()->each, 3);
}

TEST(FindAheadFromLooks, AllowsOthersToReadHalfASampleNoMore) {
  const auto seen = [](std::uint64_t bytes) {
    Looked looked;
    looked.generation(2, 3, 40);
    looked.recording.processes.push_back({.pid = 9, .first_s = 1});
    const std::uint64_t reads[] = {500'000 + bytes / 2, 500'000, 500'000 + bytes};
    for (std::size_t i = 0; i < looked.recording.stills.size(); ++i) {
      Still& still = looked.recording.stills[i];
      still.counts[still.count++] = {.process = 3, .value = reads[i < 2 ? i + 1 : i % 3]};
    }
    return looked.ahead().has_value();
  };
  EXPECT_TRUE(seen(49'000));
  EXPECT_FALSE(seen(51'000));
}

TEST(FindAhead, CountsSlicesInWhichWorkersWaitAndMoreIsRead) {
  std::string why;
  const auto moments = [&](const std::function<void(Recording&)>& change) {
    Recording recording = laid(2, 2);
    change(recording);
    const auto ahead = found(recording, roles_of(2), 2, 1000, 0, why);
    if (!ahead) return 0u;
    EXPECT_NEAR(ahead->batch, 8, 1e-6);
    return ahead->moments;
  };
  EXPECT_EQ(moments([](Recording&) {}), 19u) << "of the last nothing follows";
  EXPECT_EQ(moments([](Recording& recording) {
              for (std::size_t i = 0; i < 3; ++i) {
                recording.slices[i].processes[0].looked_calls = 0;
                for (const std::size_t worker : {1, 2})
                  recording.slices[i].processes[worker].counted.read_calls_bytes = 16'000 / 2;
              }
            }),
            16u)
      << "of those before the first batch, either";
  EXPECT_EQ(moments([](Recording& recording) {
              for (std::size_t i = 15; i < 20; ++i)
                for (const std::size_t worker : {1, 2})
                  recording.slices[i].processes[worker].counted.read_calls_bytes = 0;
            }),
            14u)
      << "at the end of an epoch nothing more is read";
  const auto waiting = [&](std::uint32_t looks) {
    return moments([looks](Recording& recording) {
      for (Slice& slice : recording.slices)
        for (const std::size_t worker : {1, 2}) {
          slice.processes[worker].lead[static_cast<std::size_t>(Wait::hand_over)] = looks;
          slice.processes[worker].lead[static_cast<std::size_t>(Wait::read)] = 10 - looks;
        }
    });
  };
  EXPECT_EQ(waiting(8), 19u);
  EXPECT_EQ(waiting(7), 0u) << "seven tenths of the time";
}

TEST(FindAhead, NeedsAFewMomentsAndMoreForANumber) {
  std::string why;
  const auto of_slices = [&](std::size_t count) {
    Recording recording = laid(2, 2);
    recording.slices.resize(count);
    return found(recording, roles_of(2), 2, 1000, 0, why);
  };
  EXPECT_FALSE(of_slices(4));
  EXPECT_TRUE(of_slices(5) && !of_slices(5)->each);
  EXPECT_TRUE(of_slices(6) && !of_slices(6)->each);
  EXPECT_TRUE(of_slices(7) && of_slices(7)->each);
  const auto of_size = [&](double sample_size, double calls = 2) {
    return found(laid(2, 2), roles_of(2), calls, sample_size, 0, why);
  };
  EXPECT_FALSE(of_size(8000 / 0.45)) << "less than half a sample in a batch";
  EXPECT_TRUE(of_size(8000 / 0.55));
  EXPECT_FALSE(of_size(0));
  EXPECT_NEAR(of_size(1)->batch, 8000, 1e-3);
  EXPECT_NEAR(of_size(1000, 1)->batch, 4, 1e-6);
  EXPECT_TRUE(of_size(8000)->each) << "batches of one";
  EXPECT_TRUE(of_size(8000 / 8.2)->each);
  EXPECT_FALSE(of_size(8000 / 8.3)->each) << "no whole number of samples";
  EXPECT_TRUE(found(laid(2, 2, true, 0.06), roles_of(2), 2, 1000, 0, why));
  EXPECT_FALSE(found(laid(2, 2, true, 0.04), roles_of(2), 2, 1000, 0, why));
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
