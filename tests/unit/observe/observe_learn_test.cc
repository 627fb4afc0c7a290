// The keys of the job file, from a recording that was made up: of a loop whose steps, batches and samples are known.
#include "harness/observe/learning/learn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "harness/base/config/document.h"
#include "harness/observe/learning/shares.h"

namespace headrace::observe::observe_learn_test {
namespace {

constexpr std::uint32_t kLooks = 100;

/// 40 seconds of a loop with ten steps a second: 40 ms of waiting for data, 60 ms of step. A batch is 8 samples of 1000 bytes, which
/// two workers read by two calls each and decode for 5 ms of a processor. A batch is handed over by 2 calls.
struct Loop {
  Recording recording;
  Observation seen;
  std::vector<const Slice*> slices;

  Loop() {
    recording.processes = {{.pid = 1}, {.pid = 2, .parent = 0}, {.pid = 3, .parent = 0}};
    recording.hand_overs = {{.process = 0, .jumps = {{2, 400}}, .by_pause = {{2, 400}}}};
    recording.read_sizes = {{4096, 10}, {1 << 20, 90}};
    for (int i = 0; i < 40; ++i) {
      Slice slice;
      slice.begin_s = i;
      slice.end_s = i + 1;
      ProcessSlice lead;
      lead.lead[static_cast<std::size_t>(Wait::hand_over)] = 4 * kLooks / 10;
      lead.lead[static_cast<std::size_t>(Wait::sleep)] = 6 * kLooks / 10;
      lead.looks = kLooks;
      lead.pauses = lead.takes = 10;
      lead.taken_calls = lead.looked_calls = 20;
      slice.processes = {lead};
      for (const std::uint32_t worker : {1u, 2u}) {
        ProcessSlice one;
        one.process = worker;
        one.lead[static_cast<std::size_t>(Wait::read)] = kLooks;
        one.counted = {.read_calls_bytes = 40'000,
                       .read_calls = 80,
                       .storage_read_bytes = 20'000,
                       .user_s = 0.2,
                       .system_s = 0.05};
        slice.processes.push_back(one);
      }
      recording.slices.push_back(slice);
    }
    seen.roles.consumers = {0};
    seen.roles.workers = {1, 2};
    seen.roles.workers_at_once = 2;
    seen.roles.consumers_at_once = 1;
    seen.data = {.folder = "/data",
                 .extensions = {"bin"},
                 .seen = 50,
                 .read = true,
                 .files = 500,
                 .folders = 4,
                 .bytes = 500'000,
                 .size_deviation = 100,
                 .complete = true};
    seen.storage = {.device = "8:0", .seconds = 40, .read_rate = 50'000, .requests = 5, .request_bytes = 10'000};
  }
  /// What was learned, after `change`.
  static Observation learned(const std::function<void(Loop&)>& change = [](Loop&) {}) {
    Loop loop;
    change(loop);
    for (const Slice& slice : loop.recording.slices) loop.slices.push_back(&slice);
    loop.seen.training = loop.seen.consumer = consumer_shares(loop.slices, loop.seen.roles);
    learn(loop.recording, loop.slices, loop.seen);
    return loop.seen;
  }
  void each(const std::function<void(Slice&)>& change) {
    for (Slice& slice : recording.slices) change(slice);
  }
};

const Learned* find(const Observation& seen, std::string_view key) {
  for (const Learned& one : seen.learned)
    if (one.key == key) return &one;
  return nullptr;
}
double value(const Observation& seen, std::string_view key) {
  const Learned* const one = find(seen, key);
  return one != nullptr ? one->value : std::numeric_limits<double>::quiet_NaN();
}
std::string text(const Observation& seen, std::string_view key) {
  const Learned* const one = find(seen, key);
  return one != nullptr ? one->text : "";
}
std::string confidence(const Observation& seen, std::string_view key) {
  const Learned* const one = find(seen, key);
  return one != nullptr ? std::string(to_string(one->confidence)) : "";
}
bool is_evident(const Observation& seen, std::string_view key, const char* words) {
  const Learned* const one = find(seen, key);
  return one != nullptr && one->evidence.find(words) != std::string::npos;
}

TEST(Learn, ALoopOfKnownStepsAndSamples) {
  const Observation seen = Loop::learned();
  EXPECT_DOUBLE_EQ(seen.steps, 400);
  EXPECT_DOUBLE_EQ(seen.samples_per_s, 80);
  EXPECT_NEAR(value(seen, "step.time"), 0.06, 1e-9);
  const Learned& time = *find(seen, "step.time");
  EXPECT_LT(time.low, 0.06);
  EXPECT_GT(time.low, 0.057);
  EXPECT_NEAR(0.06 - time.low, time.high - 0.06, 1e-4);
  EXPECT_GT(time.high, 0.06);
  EXPECT_LT(time.high, 0.063);
  EXPECT_EQ(confidence(seen, "step.time"), "high");
  EXPECT_EQ(value(seen, "step.micro_batch"), 8);
  EXPECT_EQ(confidence(seen, "step.micro_batch"), "high");
  const Learned& batch = *find(seen, "step.micro_batch");
  // Two processes' three batches over 400, a slice of 40 and as much as the sizes scatter.
  const double error = 2.0 / 400 + 6.0 / 400 + 1.0 / 40 + 0.1 / std::sqrt(3200);
  EXPECT_NEAR(batch.low, 8 * (1 - error), 1e-9);
  EXPECT_NEAR(batch.high, 8 * (1 + error), 1e-9);
  EXPECT_EQ(text(seen, "dataset.layout"), "files");
  EXPECT_EQ(confidence(seen, "dataset.layout"), "high");
  EXPECT_EQ(text(seen, "dataset.path"), "/data");
  EXPECT_EQ(confidence(seen, "dataset.path"), "medium");
  EXPECT_EQ(value(seen, "dataset.samples"), 500);
  EXPECT_EQ(confidence(seen, "dataset.samples"), "medium");
  EXPECT_EQ(value(seen, "dataset.sample_size"), 1000);
  EXPECT_EQ(confidence(seen, "dataset.sample_size"), "high");
  EXPECT_NEAR(find(seen, "dataset.sample_size")->high, 1000 * (1 + 0.1 / std::sqrt(500)), 1e-9);
  EXPECT_EQ(find(seen, "dataset.samples_per_file"), nullptr);
  EXPECT_NEAR(value(seen, "dataset.cpu_time_per_sample"), 0.005, 1e-12);
  EXPECT_TRUE(is_evident(seen, "dataset.cpu_time_per_sample",
                         "took 16.0 s of processor time, and 4.00 s more in the kernel, for 3200 samples"));
  // The kernel's quarter may be reading or decoding: the bound has it.
  const double scatter = 0.02 + 0.02 / 16 + 0.1 / std::sqrt(3200);
  EXPECT_NEAR(find(seen, "dataset.cpu_time_per_sample")->high, 0.005 * (1 + scatter + 0.25), 1e-9);
  EXPECT_EQ(confidence(seen, "dataset.cpu_time_per_sample"), "low");
  const Observation little = Loop::learned([](Loop& loop) {
    loop.each([](Slice& slice) {
      for (ProcessSlice& one : slice.processes) one.counted.system_s = 0.1 * one.counted.user_s;
    });
  });
  EXPECT_NEAR(find(little, "dataset.cpu_time_per_sample")->high, 0.005 * (1 + scatter), 1e-9);
  EXPECT_EQ(confidence(little, "dataset.cpu_time_per_sample"), "high");
  EXPECT_EQ(value(seen, "loader.workers_per_gpu"), 2);
  EXPECT_EQ(value(seen, "loader.prefetch_factor"), 2);
  EXPECT_EQ(confidence(seen, "loader.prefetch_factor"), "guess");
  EXPECT_EQ(find(seen, "loader.kind"), nullptr);
  EXPECT_EQ(value(seen, "cluster.gpus_per_node"), 1);
  EXPECT_EQ(confidence(seen, "cluster.gpus_per_node"), "low");
  EXPECT_EQ(text(seen, "dataset.read_profile"), "whole");
  EXPECT_TRUE(is_evident(seen, "dataset.read_profile",
                         "10 % of 100 reads asked for at most 64 KiB; a read got 500 B of a 1.00 kB sample"));
  ASSERT_FALSE(seen.notes.empty());
  EXPECT_NE(seen.notes.back().find("read 6.40 times"), std::string::npos) << seen.notes.back();
}

TEST(Learn, BytesOfStorageAreTheJobsIfMostAre) {
  const Observation seen = Loop::learned();
  EXPECT_EQ(value(seen, "dataset.request_size"), 10'000);
  EXPECT_EQ(find(seen, "dataset.read_amplification"), nullptr) << "half came out of memory";
  EXPECT_NE(seen.notes.front().find("50 % of the bytes came from memory"), std::string::npos) << seen.notes.front();
  const Observation others = Loop::learned([](Loop& loop) { loop.seen.storage.read_rate = 90'000; });
  EXPECT_EQ(find(others, "dataset.request_size"), nullptr) << "more than half is of others";
  const Observation amplified = Loop::learned([](Loop& loop) {
    loop.each([](Slice& slice) {
      for (ProcessSlice& one : slice.processes) one.counted.storage_read_bytes = 3 * one.counted.read_calls_bytes;
    });
  });
  EXPECT_DOUBLE_EQ(value(amplified, "dataset.read_amplification"), 3);
  for (const std::string& note : amplified.notes) EXPECT_EQ(note.find("came from memory"), std::string::npos) << note;
  const Observation memory = Loop::learned([](Loop& loop) {
    loop.each([](Slice& slice) {
      for (ProcessSlice& one : slice.processes) one.counted.storage_read_bytes = 0;
    });
  });
  for (const std::string& note : memory.notes) EXPECT_EQ(note.find("came from memory"), std::string::npos) << note;
}

TEST(Learn, SomeThatMemoryServedIsSaid) {
  for (const auto& [stored, said] : {std::pair(160, false), {240, true}, {38'800, true}, {39'600, false}}) {
    const Observation seen = Loop::learned([stored = stored](Loop& loop) {
      loop.each([stored](Slice& slice) {
        for (ProcessSlice& one : slice.processes) one.counted.storage_read_bytes = static_cast<std::uint64_t>(stored);
      });
    });
    EXPECT_EQ(seen.notes.front().find("came from memory") != std::string::npos, said) << stored << " of 40'000";
    EXPECT_EQ(find(seen, "dataset.read_amplification"), nullptr);
  }
}

/// One number, with these bounds around it.
bool within(const Observation& seen, std::string_view key, double low, double high) {
  const Learned* const one = find(seen, key);
  EXPECT_TRUE(one != nullptr) << key;
  EXPECT_NEAR(one->low, low, 1e-9 * (1 + high)) << key;
  EXPECT_NEAR(one->high, high, 1e-9 * (1 + high)) << key;
  return true;
}
bool is_just(const Observation& seen, std::string_view key, double number) {
  EXPECT_EQ(value(seen, key), number) << key;
  return within(seen, key, number, number);
}

TEST(Learn, ACountOrGuessIsOneNumber) {
  const Observation seen = Loop::learned();
  is_just(seen, "cluster.gpus_per_node", 1);
  is_just(seen, "loader.workers_per_gpu", 2);
  is_just(seen, "loader.prefetch_factor", 2);
  is_just(seen, "dataset.metadata_ops_per_open", 4);
  is_just(Loop::learned([](Loop& loop) { loop.seen.gpus.resize(2); }), "cluster.gpus_per_node", 2);
  const auto sample_size = [](const std::function<void(DataSurvey&)>& change) {
    return Loop::learned([&](Loop& loop) { change(loop.seen.data); });
  };
  is_just(sample_size([](DataSurvey& data) { data = {}; }), "dataset.sample_size", 8000);
  is_just(sample_size([](DataSurvey& data) { data.read = false; }), "dataset.sample_size", 8000);
  is_just(sample_size([](DataSurvey& data) { data.bytes = 500ull * 3'200'001; }), "dataset.sample_size", 8000);
  is_just(sample_size([](DataSurvey& data) { data.format = formats::Format::tar; }), "dataset.sample_size", 8000);
  is_just(Loop::learned([](Loop& loop) { loop.recording.slices[0].processes[1].counted.major_faults = 1000; }),
          "dataset.sample_size", 16384);
}

TEST(Learn, AMeasuredValueHasBounds) {
  const Observation seen = Loop::learned();
  within(seen, "dataset.request_size", 9500, 10'500);
  within(Loop::learned([](Loop& loop) {
           loop.each([](Slice& slice) {
             for (ProcessSlice& one : slice.processes)
               one.counted.storage_read_bytes = 2 * one.counted.read_calls_bytes;
           });
         }),
         "dataset.read_amplification", 1.9, 2.1);
  within(Loop::learned([](Loop& loop) {
           loop.seen.data.format = formats::Format::tar;
           loop.seen.data.samples_per_file = 100;
           loop.seen.data.bytes = 50'000'000;
         }),
         "dataset.samples_per_file", 98, 102);
  within(Loop::learned([](Loop& loop) {
           loop.seen.data.files = loop.seen.data.seen = 1;
           loop.seen.data.bytes = 1000;
         }),
         "dataset.sample_size", 900, 1100);
}

TEST(Learn, RanksThatShareANodeAreCountedOnce) {
  const Observation pairs = Loop::learned([](Loop& loop) {
    loop.seen.roles.consumers = {0, 3};
    loop.recording.processes.push_back({.pid = 4});
    loop.seen.roles.consumers_at_once = 2;
    loop.seen.roles.workers_at_once = 4;
    loop.seen.gpus.resize(2);
  });
  EXPECT_EQ(value(pairs, "cluster.gpus_per_node"), 2);
  EXPECT_EQ(confidence(pairs, "cluster.gpus_per_node"), "high");
  EXPECT_FALSE(is_evident(pairs, "cluster.gpus_per_node", "at a time"));
  EXPECT_NEAR(value(pairs, "step.time"), 0.12, 1e-9) << "each of two took half of the batches";
  EXPECT_EQ(value(pairs, "step.micro_batch"), 8);
  const double error = 2.0 / 200 + 6.0 / 200 + 1.0 / 40 + 0.1 / std::sqrt(3200);
  within(pairs, "step.micro_batch", 8 * (1 - error), 8 * (1 + error));
  EXPECT_EQ(value(pairs, "loader.workers_per_gpu"), 2);
  const Observation after = Loop::learned([](Loop& loop) {
    loop.seen.roles.consumers = {0, 3};
    loop.seen.roles.consumers_at_once = 1.2;
  });
  EXPECT_TRUE(is_evident(after, "cluster.gpus_per_node", "2 processes took batches, 1.2 at a time"));
  const Observation one = Loop::learned([](Loop& loop) {
    loop.seen.roles.consumers_at_once = 2;
    loop.seen.gpus.resize(1);
  });
  EXPECT_TRUE(is_evident(one, "cluster.gpus_per_node", "the driver names the job on 1 GPUs"));
}

/// Of the time between two batches, 0.6 plus or minus this is the step, from 4000 looks.
const double kMissed = 1.96 * std::sqrt(0.6 * 0.4 / 4000);

TEST(Learn, BoundsHaveBothWhereTwoBatchesLookLikeOne) {
  const auto taking = [](std::map<std::uint32_t, std::uint32_t> by_pause) {
    return Loop::learned([&](Loop& loop) {
      loop.recording.hand_overs = {{.process = 0, .jumps = {{4, 400}}, .by_pause = std::move(by_pause)}};
      loop.each([](Slice& slice) {
        slice.processes[0].taken_calls = slice.processes[0].looked_calls = 40;
        slice.processes[0].pauses = 20;
      });
    });
  };
  const Observation two = taking({{4, 360}, {2, 40}}), one = taking({{4, 400}});
  EXPECT_NEAR(value(two, "step.time"), 0.03, 1e-9);
  within(two, "step.time", 0.05 * (0.6 - kMissed) * (1 - 2.0 / 800), 0.05 * (0.6 + kMissed) * (1 + 2.0 / 800) * 2);
  EXPECT_NEAR(value(one, "step.time"), 0.06, 1e-9);
  within(one, "step.time", 0.1 * (0.6 - kMissed) * (1 - 2.0 / 400) / 2, 0.1 * (0.6 + kMissed) * (1 + 2.0 / 400));
  const double scatter = 1.0 / 40 + 0.1 / std::sqrt(3200);
  within(two, "step.micro_batch", 4 * (1 - 8.0 / 800 - scatter), 4 * (1 + 8.0 / 800 + scatter) * 2);
  within(one, "step.micro_batch", 8 * (1 - 8.0 / 400 - scatter) / 2, 8 * (1 + 8.0 / 400 + scatter));
  EXPECT_TRUE(is_evident(one, "loader.prefetch_factor", "batches taken together look like one"));
}

TEST(Learn, FewerLooksOrUnsureOnesWidenBounds) {
  const auto high = [](std::uint32_t looks, std::uint32_t unsure, bool machine_seen = true) {
    const Observation seen = Loop::learned([&](Loop& loop) {
      loop.recording.machine_seen = machine_seen;
      loop.each([&](Slice& slice) {
        slice.processes[0].looks = looks;
        slice.processes[0].unsure = unsure;
      });
    });
    return find(seen, "step.time")->high / 0.1 / (1 + 2.0 / 400) - 0.6;
  };
  EXPECT_NEAR(high(100, 0), kMissed, 1e-9);
  EXPECT_NEAR(high(25, 0), 2 * kMissed, 1e-9);
  EXPECT_NEAR(high(25, 0, false), kMissed, 1e-9) << "recorded calls are known all the time";
  EXPECT_NEAR(high(100, 10), kMissed + 0.1, 1e-9);
}

TEST(Learn, ABatchThatIsNoWholeNumberIsLessSure) {
  const auto batch = [](std::uint64_t bytes, std::uint32_t pairs = 0) {
    return Loop::learned([=](Loop& loop) {
      loop.recording.hand_overs[0].by_pause = {{2, 400}, {3, pairs}};
      loop.each([bytes](Slice& slice) {
        for (const std::size_t worker : {1, 2}) slice.processes[worker].counted.read_calls_bytes = bytes;
      });
    });
  };
  EXPECT_EQ(confidence(batch(40'750), "step.micro_batch"), "high") << "8.15";
  EXPECT_EQ(confidence(batch(41'250), "step.micro_batch"), "medium") << "8.25";
  EXPECT_EQ(confidence(batch(41'250, 40), "step.micro_batch"), "low") << "one in eleven is of another number";
  EXPECT_EQ(value(batch(1500), "step.micro_batch"), 1) << "0.3";
}

/// What is kept at moments at which both workers wait for room: each batch has so many bytes, and two of each lie ready.
/// `uneven`: how far sizes scatter [B].
void keep_moments(Loop& loop, std::uint64_t batch, bool pauses, std::uint64_t uneven) {
  loop.seen.roles.generations = {{.workers = {1, 2}, .begin_s = 0.2, .end_s = INFINITY}};
  for (std::uint64_t taken = 0; taken <= 60; ++taken) {
    const double at_s = 0.2 + 0.1 * static_cast<double>(taken);
    if (taken > 0 && pauses) loop.recording.taken.push_back({.at_s = at_s, .process = 0, .calls = 2 * taken});
    Still still{.at_s = at_s + 0.05, .count = 3};
    const std::uint64_t batches = std::min<std::uint64_t>(60, taken + 4);
    const std::uint64_t read = (batches * batch + uneven * (batches * 7 % 5)) / 2;
    still.counts[0] = {.process = 0, .value = 2 * taken};
    still.counts[1] = {.process = 1, .value = read};
    still.counts[2] = {.process = 2, .value = read};
    loop.recording.stills.push_back(still);
  }
}

TEST(Learn, TheBatchAndThePrefetchDepthFollowFromMomentsAtWhichWorkersWait) {
  const auto kept = [](std::uint64_t batch, std::size_t gpus = 1, bool pauses = true, std::uint64_t uneven = 0) {
    return Loop::learned([=](Loop& loop) {
      keep_moments(loop, batch, pauses, uneven);
      loop.seen.gpus.resize(gpus);
    });
  };
  const Observation seen = kept(8000);
  is_just(seen, "step.micro_batch", 8);
  EXPECT_TRUE(is_evident(seen, "step.micro_batch", "they read 8.00 samples"));
  EXPECT_EQ(confidence(seen, "step.micro_batch"), "high");
  EXPECT_EQ(value(seen, "loader.prefetch_factor"), 2);
  EXPECT_EQ(confidence(seen, "loader.prefetch_factor"), "medium");
  EXPECT_TRUE(is_evident(seen, "loader.prefetch_factor", "as many were taken after the last read"));
  EXPECT_LT(find(seen, "loader.prefetch_factor")->low, 2);
  EXPECT_GT(find(seen, "loader.prefetch_factor")->low, 1);
  EXPECT_GE(find(seen, "loader.prefetch_factor")->high, 2);
  EXPECT_EQ(value(kept(8000, 2), "step.micro_batch"), 4) << "of each GPU";
  EXPECT_EQ(value(kept(8000, 32), "step.micro_batch"), 1);
  EXPECT_TRUE(is_evident(kept(7700), "step.micro_batch", "they read 7.70 samples"));
  EXPECT_TRUE(is_evident(kept(7620, 1, true, 2300), "step.micro_batch", "3200 samples in 400 steps"))
      << "7.6 give or take 0.1";
  const Observation half = kept(7500);
  EXPECT_TRUE(is_evident(half, "step.micro_batch", "3200 samples in 400 steps")) << "7.5 is no number";
  EXPECT_EQ(confidence(half, "loader.prefetch_factor"), "guess");
  EXPECT_TRUE(is_evident(half, "loader.prefetch_factor", "batches of each worker lay ready: no one number"));
  EXPECT_TRUE(is_evident(kept(8000, 1, false), "loader.prefetch_factor", "never paused"));
}

/// Of a hundred looks at the main thread, so many found it on a processor, and as much time the kernel counted.
Observation computing(
    std::uint32_t running, std::uint32_t sleeps, double user_s,
    const std::function<void(Loop&)>& change = [](Loop&) {}) {
  return Loop::learned([&](Loop& loop) {
    loop.each([&](Slice& slice) {
      ProcessSlice& lead = slice.processes[0];
      lead.lead[static_cast<std::size_t>(Wait::running)] = running;
      lead.lead[static_cast<std::size_t>(Wait::sleep)] = sleeps;
      lead.counted.user_s = user_s;
    });
    change(loop);
  });
}

TEST(Learn, TakingABatchCostsTheComputingOfTheMainThread) {
  constexpr const char* kKey = "loader.cpu_time_per_batch";
  const Observation seen = computing(10, 50, 0.1);
  EXPECT_NEAR(value(seen, kKey), 0.01, 1e-9);
  within(seen, kKey, 0.01 * (1 - 2.0 / 400), 0.01 * (1 + 2.0 / 400));
  EXPECT_EQ(confidence(seen, kKey), "medium");
  EXPECT_TRUE(find(seen, kKey)->known);
  EXPECT_NEAR(value(computing(10, 50, 0.1, [](Loop& loop) { loop.seen.gpus.resize(2); }), kKey), 0.005, 1e-9);
  const auto two = [](Loop& loop) {
    loop.seen.roles.consumers_at_once = 2;
    loop.seen.gpus.resize(2);
  };
  EXPECT_NEAR(value(computing(10, 50, 0.1, two), kKey), 0.02, 1e-9) << "each rank takes half as many";
  const auto pairs = [](std::map<std::uint32_t, std::uint32_t> by_pause) {
    return computing(10, 50, 0.1, [&](Loop& loop) {
      loop.recording.hand_overs = {{.process = 0, .jumps = {{4, 400}}, .by_pause = std::move(by_pause)}};
      loop.each([](Slice& slice) {
        slice.processes[0].taken_calls = slice.processes[0].looked_calls = 40;
        slice.processes[0].pauses = 20;
      });
    });
  };
  within(pairs({{4, 400}}), kKey, 0.005 * (1 - 2.0 / 400), 0.01 * (1 + 2.0 / 400));
  within(pairs({{4, 360}, {2, 40}}), kKey, 0.005 * (1 - 2.0 / 800), 0.01 * (1 + 2.0 / 800));
}

TEST(Learn, WhereTheMainThreadMaySpinTheCostOfTakingABatchIsNotKnown) {
  constexpr const char* kKey = "loader.cpu_time_per_batch";
  for (const Observation& seen : {computing(55, 5, 0.55), computing(10, 50, 0)}) {  // or computes less than is counted
    EXPECT_EQ(text(seen, kKey), "not known");
    EXPECT_EQ(value(seen, kKey), 0);
    EXPECT_EQ(confidence(seen, kKey), "guess");
    EXPECT_FALSE(find(seen, kKey)->known);
  }
  within(computing(55, 5, 0.55), kKey, 0, 0.055 * (1 + 2.0 / 400));
  EXPECT_EQ(find(computing(0, 60, 0), kKey), nullptr);
  const auto without = [&](const std::function<void(Loop&)>& change) {
    return find(computing(10, 50, 0.1, change), kKey);
  };
  EXPECT_EQ(without([](Loop& loop) { loop.seen.roles.in_process = true; }), nullptr);
  EXPECT_EQ(without([](Loop& loop) { loop.recording.machine_seen = false; }), nullptr);
  EXPECT_EQ(without([](Loop& loop) {
              loop.recording.hand_overs.clear();
              loop.each([](Slice& slice) { slice.processes[0].pauses = slice.processes[0].takes = 0; });
            }),
            nullptr);
  // What is not known as the cost of taking is part of the step.
  EXPECT_NEAR(value(computing(10, 50, 0.1), "step.time"), 0.05, 1e-9);
  EXPECT_NEAR(value(computing(55, 5, 0.55), "step.time"), 0.06, 1e-9);
  const auto recorded = [](Loop& loop) { loop.recording.machine_seen = false; };
  EXPECT_NEAR(value(computing(10, 50, 0.1, recorded), "step.time"), 0.06, 1e-9);
  const auto alone = [](Loop& loop) {
    loop.seen.roles.in_process = true;
    loop.seen.roles.workers.clear();
  };
  EXPECT_NEAR(value(computing(10, 50, 0.1, alone), "step.time"), 0.06, 1e-9);
}

TEST(Learn, GpusThatTheDriverNamesAreTheJobs) {
  const Observation two = Loop::learned([](Loop& loop) { loop.seen.gpus.resize(2); });
  EXPECT_EQ(value(two, "cluster.gpus_per_node"), 2);
  EXPECT_EQ(confidence(two, "cluster.gpus_per_node"), "high");
  EXPECT_EQ(value(two, "step.micro_batch"), 4);
  EXPECT_EQ(value(two, "loader.workers_per_gpu"), 1);
  const Observation three = Loop::learned([](Loop& loop) {
    loop.seen.gpus.resize(3);
    loop.seen.roles.consumers_at_once = 2;
  });
  EXPECT_EQ(value(three, "cluster.gpus_per_node"), 2) << "three GPUs are not shared by two evenly";
  EXPECT_EQ(confidence(three, "cluster.gpus_per_node"), "low");
  const Observation ranks = Loop::learned([](Loop& loop) { loop.seen.roles.consumers_at_once = 2.2; });
  EXPECT_EQ(value(ranks, "cluster.gpus_per_node"), 2);
  EXPECT_EQ(confidence(ranks, "cluster.gpus_per_node"), "medium");
  EXPECT_TRUE(is_evident(ranks, "cluster.gpus_per_node", "1 process took batches; as if each had one GPU"));
}

TEST(Learn, FewFilesMakeNothingSure) {
  const Observation few = Loop::learned([](Loop& loop) { loop.seen.data.seen = 4; });
  for (const char* key :
       {"dataset.layout", "dataset.path", "dataset.samples", "dataset.sample_size", "step.micro_batch"})
    EXPECT_EQ(confidence(few, key), "low") << key;
  const Observation enough = Loop::learned([](Loop& loop) { loop.seen.data.seen = 5; });
  EXPECT_EQ(confidence(enough, "dataset.sample_size"), "high");
  EXPECT_EQ(confidence(enough, "dataset.samples"), "medium");
  for (const formats::Format format : {formats::Format::none, formats::Format::tar}) {
    const Observation others = Loop::learned([format](Loop& loop) {
      loop.seen.data.seen = loop.seen.data.files = 4;
      loop.seen.data.bytes = 4000;
      loop.seen.data.samples_per_file = 1;
      loop.seen.data.format = format;
      loop.seen.data.files += format == formats::Format::tar;
    });
    EXPECT_EQ(confidence(others, "dataset.layout"), "low") << "four files may be others' parts; four of five shards";
  }
  const Observation unlisted = Loop::learned([](Loop& loop) { loop.seen.data.complete = false; });
  EXPECT_EQ(confidence(unlisted, "dataset.sample_size"), "medium");
  EXPECT_EQ(confidence(unlisted, "dataset.samples"), "low");
  EXPECT_TRUE(is_evident(unlisted, "dataset.samples", "the listing was ended early"));
  EXPECT_EQ(unlisted.notes.back().find("the data set was read"), std::string::npos) << "its size is not known";
}

TEST(Learn, FilesThatWereNotFoundBeingReadAreNoDataSet) {
  const Observation open = Loop::learned([](Loop& loop) { loop.seen.data.read = false; });
  EXPECT_EQ(text(open, "dataset.layout"), "files");
  EXPECT_EQ(confidence(open, "dataset.layout"), "guess");
  EXPECT_EQ(confidence(open, "dataset.sample_size"), "guess");
  for (const std::string& note : open.notes) EXPECT_EQ(note.find("the data set was read"), std::string::npos) << note;
  EXPECT_EQ(value(open, "step.micro_batch"), 1);
  EXPECT_EQ(confidence(open, "step.micro_batch"), "guess");
  EXPECT_NEAR(value(open, "step.time"), 0.06, 1e-9) << "steps are counted all the same";
  const Observation none = Loop::learned([](Loop& loop) { loop.seen.data = {}; });
  EXPECT_EQ(confidence(none, "dataset.layout"), "guess");
  EXPECT_TRUE(is_evident(none, "dataset.layout", "no file of a data set was seen being waited for"));
  EXPECT_EQ(value(none, "dataset.sample_size"), 8000) << "as much as was read for a step";
  const auto of_size = [](std::uint64_t bytes) {
    return Loop::learned([bytes](Loop& loop) {
      loop.seen.data.files = 1;
      loop.seen.data.bytes = bytes;
    });
  };
  EXPECT_EQ(confidence(of_size(3'200'001), "dataset.layout"), "guess") << "less than one was read";
  EXPECT_EQ(confidence(of_size(3'199'999), "dataset.layout"), "high");
}

TEST(Learn, MappedFilesAreTokens) {
  const auto faulting = [](std::uint64_t faults, bool read) {
    return Loop::learned([&](Loop& loop) {
      loop.seen.data.read = read;
      loop.recording.slices.front().processes[1].counted.major_faults = faults;
    });
  };
  EXPECT_EQ(text(faulting(782, true), "dataset.layout"), "tokens") << "more bytes than by calls";
  EXPECT_EQ(text(faulting(781, true), "dataset.layout"), "files");
  EXPECT_EQ(text(faulting(1, false), "dataset.layout"), "tokens");
  EXPECT_EQ(confidence(faulting(1, false), "dataset.sample_size"), "guess");
  EXPECT_EQ(find(faulting(782, true), "dataset.read_profile"), nullptr);
}

TEST(Learn, ShardsHoldAsManySamplesAsTheirBeginsReport) {
  const auto shards = [](formats::Format format, double per_file) {
    return Loop::learned([&](Loop& loop) {
      loop.seen.data.format = format;
      loop.seen.data.samples_per_file = per_file;
      loop.seen.data.shards_parsed = 3;
      loop.seen.data.bytes = 50'000'000;
    });
  };
  const Observation tar = shards(formats::Format::tar, 100);
  EXPECT_EQ(text(tar, "dataset.layout"), "shards");
  EXPECT_EQ(confidence(tar, "dataset.layout"), "high");
  EXPECT_EQ(value(tar, "dataset.sample_size"), 1000);
  EXPECT_EQ(value(tar, "dataset.samples"), 50'000);
  EXPECT_EQ(value(tar, "dataset.samples_per_file"), 100);
  EXPECT_EQ(value(shards(formats::Format::tar, 98.3331), "dataset.samples"), 49'167) << "a job file has whole numbers";
  EXPECT_EQ(text(tar, "loader.kind"), "pytorch_iterable");
  EXPECT_EQ(text(shards(formats::Format::tfrecord, 100), "loader.kind"), "tfdata");
  EXPECT_EQ(confidence(shards(formats::Format::tar, 0), "dataset.sample_size"), "guess");
  EXPECT_NEAR(find(tar, "dataset.samples")->high, 1.02 * 50'000, 1e-6);
  const Observation one = Loop::learned([](Loop& loop) {  // of which less than one was read
    loop.seen.data.format = formats::Format::tar;
    loop.seen.data.samples_per_file = 10'000;
    loop.seen.data.files = loop.seen.data.seen = 1;
    loop.seen.data.bytes = 10'000'000;
  });
  EXPECT_EQ(text(one, "dataset.layout"), "shards");
  EXPECT_EQ(confidence(one, "dataset.layout"), "high") << "it is the only one";
  const auto large = [](std::uint64_t mean) {
    return Loop::learned([mean](Loop& loop) {
      loop.seen.data.bytes = 500 * mean;
      loop.each([mean](Slice& slice) { slice.processes[1].counted.read_calls_bytes = 2 * mean; });
    });
  };
  EXPECT_EQ(text(large((32 << 20) + 1), "dataset.layout"), "shards");
  EXPECT_EQ(confidence(large((32 << 20) + 1), "dataset.layout"), "low");
  EXPECT_EQ(find(large((32 << 20) + 1), "loader.kind"), nullptr) << "of no known format";
  const Observation part = Loop::learned([](Loop& loop) { loop.seen.data.bytes = 500ull * ((32 << 20) + 1); });
  EXPECT_EQ(text(part, "dataset.layout"), "shards") << "of one less than a whole was read";
  const Observation mapped = Loop::learned([](Loop& loop) {
    loop.seen.data.format = formats::Format::tar;
    loop.recording.slices[0].processes[1].counted.major_faults = 1000;
  });
  EXPECT_EQ(find(mapped, "loader.kind"), nullptr);
  EXPECT_EQ(text(large(32 << 20), "dataset.layout"), "files");
}

TEST(Learn, ReadsInPiecesArePillows) {
  const auto reading = [](std::map<std::uint64_t, std::uint32_t> sizes, std::uint64_t calls) {
    return text(Loop::learned([&](Loop& loop) {
                  loop.recording.read_sizes = std::move(sizes);
                  loop.each([calls](Slice& slice) {
                    for (ProcessSlice& one : slice.processes) one.counted.read_calls = calls;
                  });
                }),
                "dataset.read_profile");
  };
  EXPECT_EQ(reading({{65'536, 91}, {65'537, 9}}, 200), "pil") << "400 calls for 80 samples";
  EXPECT_EQ(reading({{65'536, 90}, {65'537, 10}}, 200), "whole") << "one in ten is a large one";
  EXPECT_EQ(reading({{4096, 100}}, 101), "pil");
  EXPECT_EQ(reading({{4096, 100}}, 99), "whole") << "a small file whole, and its end";
  EXPECT_EQ(reading({}, 200), "");
}

TEST(Learn, ProcessorTimeIsOfWorkersThatWereSeenDecoding) {
  const auto decoding = [](double user_s, std::uint64_t bytes) {
    return find(Loop::learned([&](Loop& loop) {
                  loop.each([&](Slice& slice) {
                    for (ProcessSlice& one : slice.processes) {
                      one.counted.user_s = user_s;
                      one.counted.system_s = 10;
                      one.counted.read_calls_bytes = bytes;
                    }
                  });
                }),
                "dataset.cpu_time_per_sample") != nullptr;
  };
  EXPECT_TRUE(decoding(0.0026, 40'000));
  EXPECT_FALSE(decoding(0.0024, 40'000)) << "less than 0.2 s in all";
  EXPECT_TRUE(decoding(0.1, 251));
  EXPECT_FALSE(decoding(0.1, 249)) << "fewer than 20 samples";
}

TEST(Learn, WorkersThatComeAndGoAreNoOneNumber) {
  const auto at_once = [](double workers) {
    return Loop::learned([workers](Loop& loop) { loop.seen.roles.workers_at_once = workers; });
  };
  EXPECT_EQ(confidence(at_once(2.29), "loader.workers_per_gpu"), "high");
  EXPECT_EQ(confidence(at_once(2.31), "loader.workers_per_gpu"), "low");
  EXPECT_EQ(find(at_once(2.31), "loader.workers_per_gpu")->high, 4);
  EXPECT_EQ(value(at_once(0.2), "loader.workers_per_gpu"), 1);
  EXPECT_FALSE(is_evident(Loop::learned([](Loop& made) { made.seen.roles.generations.resize(1); }),
                          "loader.workers_per_gpu", "generations"));
  const Observation shared = Loop::learned([](Loop& made) {
    made.seen.roles.workers_at_once = 5.8;
    made.seen.gpus.resize(2);
  });
  EXPECT_EQ(confidence(shared, "loader.workers_per_gpu"), "high") << "2.9 of each GPU";
  const Observation anew = Loop::learned([](Loop& made) { made.seen.roles.generations.resize(2); });
  EXPECT_TRUE(is_evident(anew, "loader.workers_per_gpu", "in 2 generations"));
}

TEST(Learn, WithoutWorkersThreadsOrTheMainThreadRead) {
  const auto in_process = [](std::vector<std::uint32_t> threads, std::size_t gpus = 1) {
    return Loop::learned([&](Loop& loop) {
      loop.seen.gpus.resize(gpus);
      loop.seen.roles.workers.clear();
      loop.seen.roles.workers_at_once = 0;
      loop.seen.roles.in_process = true;
      loop.seen.roles.threads = std::move(threads);
      loop.recording.threads.resize(3);
      loop.each([](Slice& slice) { slice.processes[0].counted = slice.processes[1].counted; });
    });
  };
  const Observation threads = in_process({0, 1, 2});
  is_just(threads, "loader.workers_per_gpu", 3);
  EXPECT_EQ(value(in_process({0, 1, 2}, 2), "loader.workers_per_gpu"), 2);
  EXPECT_EQ(value(in_process({0, 1, 2}, 8), "loader.workers_per_gpu"), 1);
  const Observation pinning = Loop::learned([](Loop& loop) {
    loop.seen.roles.threads = {0};
    loop.recording.threads.resize(1);
  });
  EXPECT_EQ(find(pinning, "loader.kind"), nullptr) << "workers read, and the thread carries";
  EXPECT_EQ(text(threads, "loader.kind"), "tfdata");
  const Observation alone = in_process({});
  is_just(alone, "loader.workers_per_gpu", 0);
  EXPECT_EQ(text(alone, "loader.workers_per_gpu"), "0");
  EXPECT_EQ(find(alone, "loader.kind"), nullptr);
  EXPECT_EQ(find(alone, "dataset.cpu_time_per_sample"), nullptr);
  EXPECT_DOUBLE_EQ(alone.samples_per_s, 40) << "of the process that takes batches";
  EXPECT_EQ(confidence(alone, "step.time"), "low") << "its pauses";
}

TEST(Learn, SavesReportTheJobsCheckpoints) {
  const auto saving = [](std::vector<SaveSeen> saves) {
    return Loop::learned([&](Loop& loop) {
      loop.recording.saves = std::move(saves);
      loop.recording.elapsed_s = 40;
    });
  };
  std::vector<SaveSeen> saves{{.begin_s = 5, .end_s = 6, .bytes = 1400, .lead_bytes = 701},
                              {.begin_s = 16, .end_s = 18, .bytes = 1400, .lead_held_share = 0.91},
                              {.begin_s = 28.2, .end_s = 29.2, .bytes = 1400, .path = "/out/3.pt"}};
  const Observation three = saving(saves);
  EXPECT_EQ(value(three, "model.parameters"), 100);
  EXPECT_TRUE(is_evident(three, "model.parameters", "3 saves of 1.40 kB, the last to /out/3.pt"));
  EXPECT_NEAR(value(three, "checkpoint.interval"), 10.1, 1e-9);
  EXPECT_NEAR(find(three, "checkpoint.interval")->low, 10, 1e-9);
  EXPECT_EQ(confidence(three, "checkpoint.interval"), "high");
  EXPECT_EQ(text(three, "checkpoint.mode"), "sync") << "two of three by the main thread, or while that waits";
  EXPECT_EQ(confidence(three, "checkpoint.mode"), "high");
  EXPECT_EQ(value(three, "checkpoint.stall"), 1);
  EXPECT_EQ(find(three, "checkpoint.stall")->high, 2);
  saves[0].lead_bytes = 700;
  EXPECT_EQ(text(saving(saves), "checkpoint.mode"), "async");
  saves.resize(2);
  EXPECT_EQ(text(saving(saves), "checkpoint.mode"), "async") << "one of two";
  EXPECT_EQ(confidence(saving(saves), "checkpoint.interval"), "medium");
  EXPECT_EQ(confidence(saving(saves), "checkpoint.mode"), "high");
  EXPECT_TRUE(is_evident(saving(saves), "checkpoint.mode", "another thread or process writes them"));
  saves.resize(1);
  is_just(saving(saves), "checkpoint.interval", 40);
  EXPECT_EQ(confidence(saving(saves), "checkpoint.interval"), "guess");
  EXPECT_EQ(confidence(saving(saves), "checkpoint.mode"), "medium");
}

std::string job_of(const std::string& folder) {
  const Observation seen = Loop::learned([&](Loop& loop) { loop.seen.data.folder = folder; });
  return job_text(Loop().recording, seen, "a\n\xe9");
}

TEST(JobText, HoldsEachPathOfUtf8) {
  for (const std::string path : {"/data", "/a \"b\" 'c' \\n", "/line\nbreak\tand\r", "/\x1b[31m\xe2\x80\xae",
                                 "/\xf0\x9d\x85\xb3\xf0\x9f\x98\x80", "/\xc2\x85\xc2\xa0", "/caf\xc3\xa9"}) {
    Diagnostics problems;
    const config::Value job = config::parse_yaml(job_of(path), "job.yaml", problems);
    ASSERT_TRUE(problems.empty()) << job_of(path);
    ASSERT_NE(job.find("dataset")->find("path"), nullptr) << job_of(path);
    EXPECT_EQ(job.find("dataset")->find("path")->text, path);
    EXPECT_EQ(job.find("job")->text, "a\\n\\xe9");
  }
}

TEST(JobText, HasTheOptionInPlaceOfAPathThatIsNotUtf8) {
  const std::string text = job_of("/it's\ncaf\xe9");
  Diagnostics problems;
  const config::Value job = config::parse_yaml(text, "job.yaml", problems);
  ASSERT_TRUE(problems.empty()) << text;
  EXPECT_EQ(job.find("dataset")->find("path"), nullptr) << text;
  EXPECT_NE(job.find("dataset")->find("sample_size"), nullptr) << text;
  EXPECT_NE(text.find("\n  # path: --data $'/it\\'s\\ncaf\\xe9'\n"), std::string::npos) << text;
  EXPECT_NE(text.find("not UTF-8"), std::string::npos) << text;
}

TEST(Learn, WithoutCountedStepsABatchOfOneIsGuessed) {
  const auto uncounted = [](std::uint32_t waits, std::size_t gpus = 1, bool reads = true) {
    return Loop::learned([=](Loop& loop) {
      loop.seen.gpus.resize(gpus);
      loop.seen.data.read = reads;
      loop.recording.hand_overs.clear();
      loop.each([waits](Slice& slice) {
        ProcessSlice& lead = slice.processes[0];
        lead.pauses = lead.takes = 0;
        lead.taken_calls = lead.looked_calls = 0;
        lead.lead[static_cast<std::size_t>(Wait::hand_over)] = waits;
        lead.lead[static_cast<std::size_t>(Wait::sleep)] = kLooks - waits;
      });
    });
  };
  const Observation guessed = uncounted(40);
  EXPECT_NEAR(value(guessed, "step.time"), 0.6 / 80, 1e-9);
  EXPECT_EQ(confidence(guessed, "step.time"), "guess");
  within(guessed, "step.time", 0.3 / 80, 0.9 / 80);
  is_just(guessed, "step.micro_batch", 1);
  EXPECT_TRUE(is_evident(guessed, "step.time", "; the time of waits is left out"));
  EXPECT_FALSE(is_evident(uncounted(99), "step.time", "left out")) << "all of the time is taken as step";
  EXPECT_NEAR(value(uncounted(40, 2), "step.time"), 1.2 / 80, 1e-9) << "of two GPUs each takes one sample";
  EXPECT_NEAR(value(uncounted(97), "step.time"), 0.03 / 80, 1e-9);
  EXPECT_NEAR(value(uncounted(99), "step.time"), 1.0 / 80, 1e-9) << "a hundredth of the time is no step";
  is_just(uncounted(99), "step.micro_batch", 1);
  EXPECT_EQ(confidence(uncounted(99), "step.micro_batch"), "guess");
  // Where samples are not known either, their bytes are.
  EXPECT_NEAR(value(uncounted(40, 1, false), "step.time"), 0.6 * 1e5 / 80'000, 1e-9);
  EXPECT_TRUE(is_evident(uncounted(40, 1, false), "step.time", "the 80.0 kB/s that were read"));
}

/// Nothing is known of samples, and each step reads so many bytes.
Observation without_samples(std::uint64_t bytes) {
  return Loop::learned([bytes](Loop& loop) {
    loop.seen.data = {};
    loop.each([bytes](Slice& slice) {
      for (const std::size_t worker : {1, 2}) {
        slice.processes[worker].counted.read_calls_bytes = 5 * bytes;
        slice.processes[worker].counted.storage_read_bytes = 0;
      }
    });
  });
}

TEST(Learn, OfSamplesThatWereNotSeenTheBytesGiveTheBatch) {
  const Observation seen = without_samples(640'000);
  is_just(seen, "step.micro_batch", 6);
  EXPECT_EQ(confidence(seen, "step.micro_batch"), "guess");
  EXPECT_TRUE(is_evident(seen, "step.micro_batch", "samples could not be counted"));
  EXPECT_DOUBLE_EQ(seen.bytes_per_s, 6.4e6);
  is_just(without_samples(4096), "step.micro_batch", 1);
  EXPECT_TRUE(find(without_samples(4096), "dataset.sample_size")->known);
  const Observation none = without_samples(4095);
  EXPECT_FALSE(find(none, "step.micro_batch")->known) << "messages of processes to each other";
  EXPECT_FALSE(find(none, "dataset.sample_size")->known);
  EXPECT_TRUE(find(none, "step.time")->known) << "steps are counted all the same";
}

TEST(JobText, LeavesOutUnseenValues) {
  const Observation seen = Loop::learned([](Loop& loop) {
    loop.recording.slices.clear();
    loop.seen.roles = {};
    loop.seen.data = {};
  });
  const std::string text = job_text(Loop().recording, seen, "crashed");
  Diagnostics problems;
  const config::Value job = config::parse_yaml(text, "job.yaml", problems);
  ASSERT_TRUE(problems.empty()) << text;
  EXPECT_EQ(job.find("dataset")->find("sample_size"), nullptr) << text;
  for (const char* key : {"time", "micro_batch", "sample_size"})
    EXPECT_NE(text.find(std::string("\n  # ") + key + ": put in what you know\n"), std::string::npos) << text;
  EXPECT_NE(text.find("no data was seen being read"), std::string::npos) << text;
}

TEST(CompareRates, NotesAJobThatAsksForLessThanWasRead) {
  const auto notes = [](double bytes_per_s) {
    Observation seen = Loop::learned();
    seen.notes.clear();
    seen.bytes_per_s = bytes_per_s;
    compare_rates(seen);
    return seen.notes;
  };
  EXPECT_TRUE(notes(2 * 8000 / 0.06 - 1).empty());
  ASSERT_EQ(notes(2 * 8000 / 0.06 + 1).size(), 1u);
  EXPECT_NE(notes(1e6).front().find("asks for 133 kB/s of data, and the job read 1.00 MB/s"), std::string::npos)
      << notes(1e6).front();
  Observation unknown = without_samples(1);
  unknown.notes.clear();
  unknown.bytes_per_s = 1e9;
  compare_rates(unknown);
  EXPECT_TRUE(unknown.notes.empty()) << "what is not known asks for nothing";
}

}  // namespace
}  // namespace headrace::observe::observe_learn_test
