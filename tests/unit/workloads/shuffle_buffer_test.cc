// What goes through a shuffle buffer: every sample once, in another order, and never more held than there may be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "harness/backends/formats/bad_sample.h"
#include "tests/unit/workload_runner.h"
#include "workloads/storage/input_pipeline/shuffle_buffer.h"

namespace headrace::shuffle_buffer_test {
namespace {

/// Samples 0, 1, 2 ..., each of its own length, which say their number; some of which cannot be used.
class Numbered final : public SampleSource {
 public:
  explicit Numbered(std::uint64_t count, std::set<std::uint64_t> bad = {}) : count_(count), bad_(std::move(bad)) {}
  void rewind(std::uint64_t) override { next_ = 0; }
  bool has(std::uint64_t) noexcept override { return next_ < count_; }
  SampleRead read(std::uint64_t, std::uint64_t) noexcept override {
    SampleRead done{.begin_ns = 1, .end_ns = 2, .bytes = 100, .error = {}};
    done.over = next_ == count_;
    if (done.over) {
      done.bytes = 0;
      return done;
    }
    done.file = static_cast<std::uint32_t>(next_ / 10);
    done.data_offset = next_;
    bytes_.assign(8 + next_ % 50, static_cast<unsigned char>(next_));
    std::memcpy(bytes_.data(), &next_, sizeof next_);
    if (bad_.contains(next_)) done.error = {.code = OperationError::kBadSample, .offset = next_};
    done.data = bytes_;
    ++next_;
    return done;
  }

 private:
  const std::uint64_t count_;
  const std::set<std::uint64_t> bad_;
  std::uint64_t next_ = 0;
  std::vector<unsigned char> bytes_;
};

struct Went {
  std::vector<std::uint64_t> order;  // by number
  std::vector<std::uint64_t> read;   // how many had been read when each went
  std::uint64_t bad = 0;
};

/// All that goes through, with what each says of itself checked.
Went through(ShuffleBuffer& buffer, std::uint64_t seed = 1) {
  Went went;
  buffer.rewind(seed);
  for (std::uint64_t read = 0;;) {
    const SampleRead one = buffer.read(0, 0);
    if (one.over) return went;
    read += one.bytes > 0;
    if (one.error.code != 0) {
      ++went.bad;
      continue;
    }
    if (one.held) continue;
    std::uint64_t number = 0;
    std::memcpy(&number, one.data.data(), sizeof number);
    EXPECT_EQ(one.data.size(), 8 + number % 50);
    EXPECT_EQ(one.data_offset, number);
    EXPECT_EQ(one.data_file, number / 10) << "it is told where it was read, not where the last one was";
    went.order.push_back(number);
    went.read.push_back(read);
  }
}

ShuffleBuffer buffer_of(std::uint64_t samples, std::uint64_t initial, std::uint64_t count,
                        std::set<std::uint64_t> bad = {}, unsigned worker = 0) {
  return {std::make_unique<Numbered>(count, std::move(bad)), {.samples = samples, .initial = initial}, 16, worker};
}

TEST(ShuffleBufferTest, EverySampleGoesOnceInAnotherOrder) {
  for (const auto& [samples, initial] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {1, 1}, {2, 1}, {2, 2}, {7, 3}, {50, 50}, {100, 10}, {1000, 100}, {5000, 5000}}) {
    ShuffleBuffer buffer = buffer_of(samples, initial, 1000);
    const Went went = through(buffer);
    std::vector<std::uint64_t> sorted = went.order;
    std::ranges::sort(sorted);
    ASSERT_EQ(sorted.size(), 1000u) << samples;
    for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[i], i) << samples;
    EXPECT_EQ(went.order == sorted, samples == 1) << "a buffer of one sample mixes nothing";
    EXPECT_LE(buffer.most_held(), samples);
    EXPECT_EQ(buffer.held(), 0u);
    EXPECT_EQ(buffer.took_all(), samples - initial > 450 || samples > 1000) << "two are read for each that goes";
    EXPECT_LE(buffer.most_bytes(), buffer.most_held() * 57);
    EXPECT_GE(buffer.most_bytes(), buffer.most_held() * 8);
  }
}

TEST(ShuffleBufferTest, AnotherRepetitionAndAnotherWorkerDrawOtherwise) {
  ShuffleBuffer one = buffer_of(100, 100, 1000), other = buffer_of(100, 100, 1000, {}, 1);
  const auto first = through(one).order;
  EXPECT_EQ(through(one).order, first);
  EXPECT_NE(through(one, 2).order, first);
  EXPECT_NE(through(other).order, first);
}

TEST(ShuffleBufferTest, ReadsAsWebDatasetDoes) {
  // webdataset.filters._shuffle: the first goes when `initial` are held; then two are read for each, until it is full.
  ShuffleBuffer buffer = buffer_of(50, 10, 1000);
  const Went went = through(buffer);
  for (std::size_t i = 0; i < went.read.size(); ++i) {
    const std::uint64_t grown = i < 40 ? 10 + 2 * i : 50 + i;
    EXPECT_EQ(went.read[i], std::min<std::uint64_t>(grown, 1000)) << i;
    EXPECT_LT(went.order[i], went.read[i]) << "what was not read cannot go";
  }
  EXPECT_EQ(buffer.most_held(), 50u);
}

TEST(ShuffleBufferTest, AFullOneIsFilledBeforeTheFirstGoes) {
  ShuffleBuffer buffer = buffer_of(50, 50, 200);
  const Went went = through(buffer);
  for (std::size_t i = 0; i < went.read.size(); ++i) EXPECT_EQ(went.read[i], std::min<std::uint64_t>(50 + i, 200));
}

TEST(ShuffleBufferTest, AnUnusableSampleIsReportedAndTakesNoPlace) {
  ShuffleBuffer buffer = buffer_of(20, 20, 100, {0, 5, 19, 20, 99});
  const Went went = through(buffer);
  EXPECT_EQ(went.bad, 5u);
  EXPECT_EQ(went.order.size(), 95u);
  EXPECT_EQ(went.read.front(), 24u) << "four of the first were bad";
}

TEST(ShuffleBufferTest, RowGroupsAreHeldWhole) {
  const Shuffling rows{.samples = 1000, .initial = 100};
  EXPECT_EQ(rows.in_operations(1).samples, 1000u);
  EXPECT_EQ(rows.in_operations(300).samples, 4u);
  EXPECT_EQ(rows.in_operations(300).initial, 1u);
}

// In the pipeline.

using testing::problems_of;
using testing::WorkloadRunner;

const std::string kShards =
    "layout: shards\nloader: pytorch_iterable\nfiles: 4\nfile_size: 1000000B\nsample_size: 10000B\nblock_size: 64KiB\n"
    "workers: 2\nbatch_size: 4\nstep_time: 0s\n";

TEST(ShuffledPipelineTest, EverySampleIsDeliveredOnceAndTheBufferIsFilledFirst) {
  for (const char* loader : {"pytorch_iterable", "tfdata", "in_flight"}) {
    std::string yaml = kShards;
    yaml.replace(yaml.find("pytorch_iterable"), 16, loader);
    for (const char* buffer : {"", "shuffle_buffer: 50\n", "shuffle_buffer: 50\nshuffle_initial: 10\n"}) {
      WorkloadRunner runner("input_pipeline", yaml + buffer);
      if (const auto skip = runner.check()) GTEST_SKIP() << skip->reason;
      runner.prepare();
      for (int again = 0; again < 2; ++again) {
        const Repetition r = runner.repeat();
        EXPECT_EQ(r.phases.front().errors, 0u);
        EXPECT_EQ(r.phases.front().operations, 400u) << loader << buffer;
        EXPECT_EQ(r.phases.front().bytes, 4'000'000u) << "all bytes are read once";
        EXPECT_EQ(runner.metrics["steps"], 99);
        if (*buffer == 0)
          EXPECT_FALSE(runner.metrics.contains("shuffle_held_bytes"));
        else
          EXPECT_EQ(runner.metrics["shuffle_held_bytes"], 2 * 50 * 10'000);
      }
      for (const std::string& note : runner->notes()) EXPECT_EQ(note.find("ended before"), std::string::npos) << note;
    }
  }
}

TEST(ShuffledPipelineTest, ABufferLargerThanTheShareIsReported) {
  WorkloadRunner runner("input_pipeline", kShards + "shuffle_buffer: 1000\nshuffle_initial: 1000\n");
  EXPECT_GE(runner->footprint().memory_bytes, std::uint64_t{2} * 1000 * 10'000);
  runner.prepare();
  EXPECT_EQ(runner.repeat().phases.front().operations, 400u);
  EXPECT_EQ(runner.metrics["shuffle_held_bytes"], 4'000'000) << "each worker held all that it read";
  const auto notes = runner->notes();
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
    return note.find("the data of 2 of 2 workers ended before their shuffle buffers of 1000 samples were full") == 0;
  }));
}

TEST(ShuffledPipelineTest, RowGroupsInMemoryAndOutOfStorage) {
  const std::string groups =
      "layout: indexed\nread_profile: row_group\nloader: pytorch_iterable\nfiles: 2\nfile_size: 1MiB\nsample_size: "
      "1KiB\n"
      "block_size: 16KiB\nworkers: 2\nbatch_size: 32\nstep_time: 0s\nshuffle_buffer: 160\n";
  WorkloadRunner runner("input_pipeline", groups);
  runner.prepare();
  EXPECT_EQ(runner.repeat().phases.front().operations, 128u);
  EXPECT_EQ(runner.metrics["shuffle_held_bytes"], 2 * 10 * 16384);
}

TEST(ShuffledPipelineTest, MoreThanThereIsMemoryForIsSkipped) {
  WorkloadRunner runner("input_pipeline", kShards + "shuffle_buffer: 100000000\n");
  const auto skip = runner.check();
  ASSERT_TRUE(skip);
  EXPECT_NE(skip->reason.find("shuffle buffers of 100000000 samples take"), std::string::npos) << skip->reason;
}

TEST(ShuffledPipelineTest, RefusesBuffersThatHoldNothing) {
  const auto describe = [](const std::string& yaml, const char* words) {
    const std::string problems = problems_of("input_pipeline", yaml);
    EXPECT_NE(problems.find(words), std::string::npos) << yaml << problems;
  };
  const std::string shards = "layout: shards\nloader: pytorch_iterable\nshuffle_buffer: ";
  EXPECT_EQ(problems_of("input_pipeline", shards + "0\n"), "") << "none";
  EXPECT_EQ(problems_of("input_pipeline", shards + "1\n"), "");
  describe(shards + "5\nshuffle_initial: 6\n", "more than the buffer holds");
  describe(shards + "5\nshuffle_initial: 0\n", "at least 1");
  describe(shards + "5\nsource: none\n", "no bytes to hold");
  describe("shuffle_buffer: 5\n", "files are shuffled by their names");
  describe("layout: indexed\nshuffle_buffer: 5\n", "read in a random order");
}

}  // namespace
}  // namespace headrace::shuffle_buffer_test
