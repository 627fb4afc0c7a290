#include <gtest/gtest.h>

#include <filesystem>

#include "harness/workload/data/data_set.h"
#include "tests/unit/workload_runner.h"

namespace headrace::input_pipeline_test {
namespace {

using testing::problems_of;
using testing::WorkloadRunner;

std::string files(int count) { return "files: " + std::to_string(count) + "\nfile_size: 20000B\nblock_size: 8KiB\n"; }

TEST(InputPipelineTest, ReadsEveryFileOnceAndStepsWithWholeBatches) {
  for (const char* loader : {"pytorch", "pytorch_iterable"}) {
    WorkloadRunner runner("input_pipeline",
                          files(100) + "workers: 4\ngpus: 2\nbatch_size: 5\nstep_time: 1ms\nloader: " + loader + "\n");
    runner.prepare();
    const Repetition r = runner.repeat();
    EXPECT_EQ(r.phases.front().errors, 0u);
    EXPECT_EQ(r.phases.front().operations, 100u) << loader;
    EXPECT_EQ(r.phases.front().bytes, runner.as<ReadsFiles>().data()->files().total_bytes());
    EXPECT_EQ(runner.metrics["steps"], 100 / 5 / 2 - 1) << loader;
    const PhaseResult& phase = r.phases.front();
    EXPECT_EQ(phase.parts[2].total(), 10u) << "each step is in the histogram";
    EXPECT_GT(runner.metrics["accelerator_utilization"], 0);
    EXPECT_LE(runner.metrics["accelerator_utilization"], 1);
  }
}

TEST(InputPipelineTest, WorkersOfTfDataMakeBatchesTogether) {
  // Three of pytorch's workers would drop 2, 2 and 1 of 15 + 15 + 17 files; samples taken by turns leave 2 of 47.
  WorkloadRunner files_each("input_pipeline", files(47) + "workers: 3\nbatch_size: 5\nstep_time: 0s\nloader: tfdata\n");
  files_each.prepare();
  EXPECT_EQ(files_each.repeat().phases.front().operations, 47u);
  EXPECT_EQ(files_each.metrics["steps"], 8);
  // Two shards of 33 samples each: no worker's own are whole batches of 22, all together are three.
  WorkloadRunner shards("input_pipeline",
                        "layout: shards\nloader: tfdata\nfiles: 2\nfile_size: 1000000B\nsample_size: 30000B\n"
                        "block_size: 64KiB\nworkers: 2\nbatch_size: 22\nstep_time: 0s\n");
  shards.prepare();
  EXPECT_EQ(shards.repeat().phases.front().operations, 66u);
  EXPECT_EQ(shards.metrics["steps"], 2);
}

TEST(InputPipelineTest, RequestsInFlightBringEverySampleOnce) {
  const std::string flies = "loader: in_flight\nworkers: 2\nqueue_depth: 5\nbatch_size: 4\nstep_time: 0s\n";
  for (const std::string& data :
       {files(43),
        std::string("layout: shards\nfiles: 2\nfile_size: 1000000B\nsample_size: 30000B\nblock_size: 64KiB\n"),
        std::string("layout: indexed\nfiles: 2\nfile_size: 1MiB\nsample_size: 16KiB\nblock_size: 8KiB\n")}) {
    WorkloadRunner runner("input_pipeline", data + flies);
    if (const auto skip = runner.check()) GTEST_SKIP() << skip->reason;
    runner.prepare();
    for (int again = 0; again < 2; ++again) {
      const Repetition r = runner.repeat();
      EXPECT_EQ(r.phases.front().errors, 0u) << data;
      // Each worker has 22 or 21 files, a shard of 33 samples, or 64 samples: whole batches of four.
      const std::uint64_t samples = data.starts_with("layout: shards") ? 2 * 32
                                    : data.starts_with("layout")       ? 2 * 64
                                                                       : 2 * 20;
      EXPECT_LE(r.phases.front().operations, samples) << data;
      EXPECT_GE(r.phases.front().operations, samples - (data.starts_with("layout: indexed") ? 24 : 0)) << data;
      EXPECT_EQ(runner.metrics["steps"], r.phases.front().operations / 4 - 1) << data;
      if (data.starts_with("files")) {
        EXPECT_EQ(r.phases.front().bytes, samples * 20000);
      }
      if (data.starts_with("layout: indexed")) {
        EXPECT_EQ(r.phases.front().bytes, r.phases.front().operations * (16u << 10));
      }
    }
  }
}

TEST(InputPipelineTest, RequestsInFlightNeedAnEngineThatQueues) {
  EXPECT_NE(problems_of("input_pipeline", "loader: in_flight\nengine: posix\n").find("waits for each"),
            std::string::npos);
  EXPECT_NE(problems_of("input_pipeline", "loader: in_flight\nread_profile: pil\n").find("waits for each read"),
            std::string::npos);
}

TEST(InputPipelineTest, CheckpointsAreSavedDuringTheRun) {
  const std::string yaml = files(100) +
                           "workers: 2\nbatch_size: 5\nstep_time: 5ms\ncheckpoint_every: 4\ncheckpoint_ranks: 2\n"
                           "checkpoint_shard_size: 64KiB\ncheckpoint_mode: ";
  for (const char* mode : {"sync", "async"}) {
    WorkloadRunner runner("input_pipeline", yaml + mode + "\n");
    runner.prepare();
    for (int again = 0; again < 2; ++again) {
      const Repetition r = runner.repeat();
      EXPECT_GE(r.phases.front().operations, 100 + 2 * 4u) << "files, and a shard of each rank for each save";
      EXPECT_EQ(runner.metrics["steps"], 19);
      EXPECT_GE(runner.metrics["saves"], 4) << mode << ": after steps 2, 6, 10, 14 and 18";
      EXPECT_LE(runner.metrics["saves"], 5);
      EXPECT_GT(runner.metrics["save_fraction"], 0);
      EXPECT_GT(runner.metrics["time_to_durable_s"], 0);
      EXPECT_LE(runner.metrics["accelerator_utilization"] + runner.metrics["save_fraction"], 1 + 1e-9);
    }
    EXPECT_TRUE(runner->verify({}).empty());
  }
  WorkloadRunner without("input_pipeline", yaml + "sync\ncheckpoint_left_out: true\n");
  without.prepare();
  without.repeat();
  EXPECT_FALSE(without.metrics.contains("saves"));
  EXPECT_FALSE(without.metrics.contains("accelerator_utilization")) << "that is told of pipelines that save";
  EXPECT_GT(without.metrics["utilization_without_saves"], 0);
}

TEST(InputPipelineTest, TheRestOfABatchIsDropped) {
  WorkloadRunner runner("input_pipeline", files(47) + "workers: 3\nbatch_size: 5\nstep_time: 0s\n");
  runner.prepare();
  EXPECT_EQ(runner.repeat().phases.front().operations, 45u);
  EXPECT_EQ(runner.metrics["steps"], 8);
  EXPECT_FALSE(runner.metrics.contains("accelerator_utilization")) << "nothing computes";
}

TEST(InputPipelineTest, ShardsAreReadSampleBySample) {
  WorkloadRunner runner("input_pipeline",
                        "layout: shards\nloader: pytorch_iterable\nfiles: 4\nfile_size: 1000000B\nsample_size: 30000B\n"
                        "block_size: 64KiB\nworkers: 2\nbatch_size: 4\nstep_time: 0s\n");
  runner.prepare();
  const Repetition r = runner.repeat();
  // Each worker has two shards, 66 samples with the one that goes on in the second: 16 batches.
  EXPECT_EQ(r.phases.front().operations, 2u * 64);
  EXPECT_EQ(runner.metrics["steps"], 31);
  EXPECT_LE(r.phases.front().bytes, 4'000'000u);
  EXPECT_GE(r.phases.front().bytes, 2u * 64 * 30'000);
}

TEST(InputPipelineTest, IndexedSamplesAreBlocksEachOnce) {
  for (const char* profile : {"ranged", "mmap", "mds"}) {
    WorkloadRunner runner(
        "input_pipeline",
        std::string("layout: indexed\nfiles: 2\nfile_size: 1MiB\nsample_size: 16KiB\nblock_size: 8KiB\n"
                    "workers: 2\nbatch_size: 4\nstep_time: 0s\nread_profile: ") +
            profile + "\n");
    runner.prepare();
    const Repetition r = runner.repeat();
    EXPECT_EQ(r.phases.front().errors, 0u);
    EXPECT_GE(r.phases.front().operations, 104u);  // 128 samples, less what is left of a batch
    EXPECT_LE(r.phases.front().operations, 128u);
    EXPECT_EQ(r.phases.front().bytes, r.phases.front().operations * (16u << 10)) << profile;
  }
}

TEST(InputPipelineTest, FilesOfSeveralSamplesMakeBatchesOfAsMany) {
  WorkloadRunner runner("input_pipeline",
                        files(40) + "samples_per_file: 4\nworkers: 2\nbatch_size: 10\nstep_time: 10ms\n");
  runner.prepare();
  EXPECT_EQ(runner.repeat().phases.front().operations, 39u) << "three files, the nearest to ten samples";
  EXPECT_GE(runner.metrics["step_latency"], 0);
  EXPECT_LT(runner.metrics["sample_rate"], 1.01 * 10 / 0.010) << "twelve samples compute for 12 ms";
}

TEST(InputPipelineTest, DecodingTakesItsProcessorTime) {
  WorkloadRunner runner("input_pipeline",
                        files(20) + "workers: 1\nbatch_size: 2\nstep_time: 0s\ncpu_time_per_sample: 3ms\n");
  runner.prepare();
  runner.repeat();
  EXPECT_GE(runner.metrics["decode_time_s"], 0.003);
  EXPECT_GT(runner.metrics["decoding_share"], runner.metrics["waiting_share"]);
}

TEST(InputPipelineTest, LargerFilesTakeLongerToDecode) {
  WorkloadRunner runner("input_pipeline", files(60) +
                                              "file_size_spread: 6000B\nworkers: 1\nbatch_size: 2\nstep_time: 0s\n"
                                              "cpu_time_per_sample: 2ms\n");
  runner.prepare();
  const Repetition r = runner.repeat();
  const FileTable& sizes = runner.as<ReadsFiles>().data()->files();
  std::uint64_t least = UINT64_MAX;
  for (std::uint32_t i = 0; i < sizes.count(); ++i) least = std::min(least, sizes.size(i));
  const double mean = static_cast<double>(sizes.total_bytes()) / sizes.count();
  // Processor time: others on the machine make it no shorter.
  EXPECT_GE(r.phases.front().parts[0].percentile(100), 0.94 * 2e6 * static_cast<double>(sizes.largest()) / mean);
  EXPECT_LT(2e6 * static_cast<double>(least) / mean, 0.9 * 2e6) << "sizes differ";
  EXPECT_GE(runner.metrics["decode_time_s"], 0.0019) << "and all together what they are told to take";
}

TEST(InputPipelineTest, AGpusOwnProcessTakesOneBatchAtATime) {
  // Samples that take no time, and 2 ms for each batch of 4: each of two GPUs gets 500 batches a second at most.
  WorkloadRunner runner("input_pipeline",
                        "source: none\nworkers: 4\ngpus: 2\nbatch_size: 4\nstep_time: 0s\ncpu_time_per_batch: 2ms\n");
  runner.prepare();
  runner.lasts_ns = 200'000'000;
  const Repetition r = runner.repeat();
  const double lasted_s = r.phases.front().elapsed_s;
  EXPECT_GT(runner.metrics["steps"], 0);
  EXPECT_LE(runner.metrics["steps"], lasted_s / 0.002 + 1);
  EXPECT_LE(runner.metrics["sample_rate"], 1.02 * 2 * 4 / 0.002) << "what lies ready has not been taken";
}

TEST(InputPipelineTest, WorkLongerThanAStepIsWaitedFor) {
  WorkloadRunner runner("input_pipeline",
                        "source: none\nworkers: 2\nbatch_size: 4\nstep_time: 20ms\ncpu_time_per_batch: 40ms\n");
  runner.prepare();
  runner.lasts_ns = 300'000'000;
  runner.repeat();
  EXPECT_LE(runner.metrics["accelerator_utilization"], 0.51) << "one batch ahead hides no more than a step's time";
  EXPECT_GT(runner.metrics["taking_share"], 0.5);
}

TEST(InputPipelineTest, AProcessThatWaitsForItsWorkersIsNotBusy) {
  WorkloadRunner runner("input_pipeline",
                        "source: none\nworkers: 1\nbatch_size: 4\nstep_time: 0s\ncpu_time_per_sample: 10ms\n"
                        "cpu_time_per_batch: 1ms\n");
  runner.prepare();
  runner.lasts_ns = 300'000'000;
  runner.repeat();
  EXPECT_GT(runner.metrics["taking_share"], 0);
  EXPECT_LT(runner.metrics["taking_share"], 0.5) << "40 ms are decoded for each ms of its own";
}

TEST(InputPipelineTest, AProcessHandsOverEverySampleThatThereIs) {
  WorkloadRunner runner("input_pipeline", files(100) +
                                              "workers: 4\ngpus: 2\nbatch_size: 5\nstep_time: 1ms\n"
                                              "cpu_time_per_batch: 0.5ms\n");
  runner.prepare();
  EXPECT_EQ(runner.repeat().phases.front().operations, 100u);
  EXPECT_EQ(runner.metrics["steps"], 100 / 5 / 2 - 1);
}

TEST(InputPipelineTest, SamplesInMemoryAreCopiedUntilTheTimeIsOver) {
  WorkloadRunner runner("input_pipeline",
                        "source: memory\nsample_size: 100kB\nworkers: 2\nbatch_size: 4\nstep_time: 0s\n");
  runner.prepare();
  EXPECT_EQ(runner.as<ReadsFiles>().data(), nullptr);
  EXPECT_TRUE(runner.as<ReadsFiles>().cache_states().empty());
  EXPECT_EQ(runner->footprint().written_bytes, 0u);
  EXPECT_EQ(runner.repeat(1, true).phases.front().operations, 0u);
}

TEST(InputPipelineTest, CountsUnreadableSamplesAsErrorsOnly) {
  WorkloadRunner runner("input_pipeline", files(40) + "workers: 2\nbatch_size: 4\nstep_time: 0s\n");
  runner.prepare();
  std::filesystem::remove(runner.as<ReadsFiles>().data()->files().full_path(7));
  const Repetition r = runner.repeat();
  EXPECT_EQ(r.phases.front().operations, 39u);
  ASSERT_EQ(runner.errors.size(), 1u);
  EXPECT_EQ(runner.errors[0].file, 7u);
  EXPECT_EQ(runner.errors[0].code, ENOENT);
}

TEST(InputPipelineTest, StopsWhenAsked) {
  WorkloadRunner runner("input_pipeline", files(40) + "workers: 2\nbatch_size: 4\nstep_time: 1h\n");
  runner.prepare();
  EXPECT_EQ(runner.repeat(1, true).phases.front().operations, 0u);
  EXPECT_FALSE(runner.metrics.contains("accelerator_utilization"));
  EXPECT_NE(runner->why_missing("accelerator_utilization").find("fewer than two steps"), std::string::npos);
}

TEST(InputPipelineParamsTest, RejectsInvalidParameters) {
  const auto describe = [](const std::string& yaml, const char* words) {
    const std::string problems = problems_of("input_pipeline", yaml);
    EXPECT_NE(problems.find(words), std::string::npos) << yaml << problems;
  };
  describe("loader: none\n", "'none' is not one of");
  describe("workers: 3\ngpus: 2\n", "a multiple of gpus");
  describe("layout: shards\n", "workers have shards of their own: pytorch_iterable");
  describe("samples_per_file: 100\n", "more samples than a batch");
  describe("read_profile: wds\n", "no such data of this layout");
  describe("checkpoint_left_out: true\n", "there is none: give checkpoint_every");
  describe("checkpoint_every: 1\n", "the first step counts for nothing");
  describe("engine: mmap\n", "mmap goes with layout indexed");
  EXPECT_EQ(problems_of("input_pipeline", "layout: indexed\nread_profile: mmap\n"), "");
}

}  // namespace
}  // namespace headrace::input_pipeline_test
