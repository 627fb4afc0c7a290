// The keys of the job file, from a recording that was made up: of a loop whose steps, batches and samples are known.
#include "harness/observe/learning/learn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

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
  EXPECT_TRUE(is_evident(seen, "dataset.read_profile", "10 % of 100 reads"));
  ASSERT_FALSE(seen.notes.empty());
  EXPECT_NE(seen.notes.back().find("read 6.40 times"), std::string::npos) << seen.notes.back();
}

TEST(Learn, WhatStorageGaveIsTheJobsWhereMostOfItWas) {
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
  for (const std::string& note : amplified.notes) EXPECT_EQ(note.find("out of memory"), std::string::npos) << note;
  const Observation memory = Loop::learned([](Loop& loop) {
    loop.each([](Slice& slice) {
      for (ProcessSlice& one : slice.processes) one.counted.storage_read_bytes = 0;
    });
  });
  for (const std::string& note : memory.notes) EXPECT_EQ(note.find("out of memory"), std::string::npos) << note;
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
  const Observation unlisted = Loop::learned([](Loop& loop) { loop.seen.data.complete = false; });
  EXPECT_EQ(confidence(unlisted, "dataset.sample_size"), "medium");
  EXPECT_EQ(confidence(unlisted, "dataset.samples"), "low");
  EXPECT_TRUE(is_evident(unlisted, "dataset.samples", "the listing was ended early"));
}

TEST(Learn, FilesThatWereNotFoundBeingReadAreNoDataSet) {
  const Observation open = Loop::learned([](Loop& loop) { loop.seen.data.read = false; });
  EXPECT_EQ(text(open, "dataset.layout"), "files");
  EXPECT_EQ(confidence(open, "dataset.layout"), "guess");
  EXPECT_EQ(confidence(open, "dataset.sample_size"), "guess");
  EXPECT_EQ(value(open, "step.micro_batch"), 1);
  EXPECT_EQ(confidence(open, "step.micro_batch"), "guess");
  EXPECT_NEAR(value(open, "step.time"), 0.06, 1e-9) << "steps are counted all the same";
  const Observation none = Loop::learned([](Loop& loop) { loop.seen.data = {}; });
  EXPECT_EQ(confidence(none, "dataset.layout"), "guess");
  EXPECT_EQ(value(none, "dataset.sample_size"), 1e5);
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
  EXPECT_EQ(text(tar, "loader.kind"), "pytorch_iterable");
  EXPECT_EQ(text(shards(formats::Format::tfrecord, 100), "loader.kind"), "tfdata");
  EXPECT_EQ(confidence(shards(formats::Format::tar, 0), "dataset.sample_size"), "guess");
  const auto large = [](std::uint64_t mean) {
    return Loop::learned([mean](Loop& loop) {
      loop.seen.data.bytes = 500 * mean;
      loop.each([mean](Slice& slice) { slice.processes[1].counted.read_calls_bytes = 2 * mean; });
    });
  };
  EXPECT_EQ(text(large((32 << 20) + 1), "dataset.layout"), "shards");
  EXPECT_EQ(confidence(large((32 << 20) + 1), "dataset.layout"), "low");
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
  Loop loop;
  const Observation anew = Loop::learned([](Loop& made) { made.seen.roles.generations.resize(2); });
  EXPECT_TRUE(is_evident(anew, "loader.workers_per_gpu", "in 2 generations"));
}

TEST(Learn, WithoutWorkersThreadsOrTheMainThreadRead) {
  const auto in_process = [](std::vector<std::uint32_t> threads) {
    return Loop::learned([&](Loop& loop) {
      loop.seen.roles.workers.clear();
      loop.seen.roles.workers_at_once = 0;
      loop.seen.roles.in_process = true;
      loop.seen.roles.threads = std::move(threads);
      loop.recording.threads.resize(3);
      loop.each([](Slice& slice) { slice.processes[0].counted = slice.processes[1].counted; });
    });
  };
  const Observation threads = in_process({0, 1, 2});
  EXPECT_EQ(value(threads, "loader.workers_per_gpu"), 3);
  EXPECT_EQ(text(threads, "loader.kind"), "tfdata");
  const Observation alone = in_process({});
  EXPECT_EQ(value(alone, "loader.workers_per_gpu"), 0);
  EXPECT_EQ(text(alone, "loader.workers_per_gpu"), "0");
  EXPECT_EQ(find(alone, "loader.kind"), nullptr);
  EXPECT_EQ(find(alone, "dataset.cpu_time_per_sample"), nullptr);
  EXPECT_DOUBLE_EQ(alone.samples_per_s, 40) << "of the process that takes batches";
  EXPECT_EQ(confidence(alone, "step.time"), "low") << "its pauses";
}

TEST(Learn, WhereNoStepWasCountedABatchOfOneIsGuessed) {
  const auto uncounted = [](std::uint32_t waits) {
    return Loop::learned([waits](Loop& loop) {
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
  EXPECT_EQ(value(guessed, "step.micro_batch"), 1);
  const Observation waiting = uncounted(99);
  EXPECT_EQ(value(waiting, "step.time"), 1) << "a hundredth of the time is no step";
  EXPECT_EQ(confidence(waiting, "step.micro_batch"), "guess");
}

}  // namespace
}  // namespace headrace::observe::observe_learn_test
