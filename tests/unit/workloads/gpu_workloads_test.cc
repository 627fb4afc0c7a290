// The GPU workloads besides h2d and d2h, on GPUs whose speeds are known.
#include <gtest/gtest.h>

#include <map>

#include "harness/backends/loader.h"
#include "harness/base/diagnostics.h"
#include "tests/unit/gpu_run.h"

namespace headrace::gpu_workloads_test {
namespace {

using testing::HostGpuSettings;

struct GpuWorkloads : testing::GpuRun {};

TEST_F(GpuWorkloads, PinMemoryReportsThePriceOfPinning) {
  for (const char* pinning : {"allocate", "register"}) {
    const PointResult p = run_one(std::string("use: pin_memory, size: 1MiB, times: 5, pinning: ") + pinning);
    ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
    EXPECT_EQ(p.repetitions.at(0).phases.at(0).operations, 5u);
    EXPECT_NEAR(metric(p, "pin_bandwidth") * metric(p, "pin_time_s"), 1 << 20, 1);
    EXPECT_TRUE(has(p, "unpin_time_s"));
    EXPECT_EQ(gpus->pinned_bytes(), 0u);
  }
  settings.most_pinned = 4096;
  EXPECT_NE(run_one("use: pin_memory, size: 1MiB").reason.find("refused by the test"), std::string::npos);
}

/// Pinning takes its time for every GPU that the process has used: what ran before does not matter.
TEST_F(GpuWorkloads, PinMemoryPinsForAllGpusAfterAnyRun) {
  settings.gpus.resize(3, HostGpuSettings{});
  const PointResult alone = run_one("use: pin_memory, size: 1MiB, times: 2");
  EXPECT_EQ(gpus->touched(), (std::set<unsigned>{0, 1, 2}));
  EXPECT_TRUE(noted(alone, "pinned for all 3 GPUs of the process"));
}

TEST_F(GpuWorkloads, AGpuThatRefusesAllProcessesIsNamed) {
  settings.gpus.resize(2, HostGpuSettings{});
  settings.gpus[1].facts.refuses = "all processes";
  const PointResult p = run_one("use: d2d, size: 1MiB");
  EXPECT_EQ(p.status, PointStatus::skipped);
  EXPECT_EQ(p.reason, "gpu1 (Test GPU) is in prohibited compute mode: nvidia-smi -c DEFAULT");
  settings.gpus[1].facts.refuses = "a second process";  // one process of each node: no other is refused
  EXPECT_EQ(run_one("use: d2d, size: 1MiB").status, PointStatus::ok);
}

TEST_F(GpuWorkloads, D2dCopiesWithinEachGpu) {
  settings.gpus.resize(2, HostGpuSettings{});
  const PointResult p = run_one("use: d2d, size: 1MiB, copies: 16, verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_EQ(p.repetitions.at(0).phases.size(), 2u);
  EXPECT_NEAR(metric(p, "bandwidth_gpu0"), 100e9, 1e8);  // 10 us a copy, in whole nanoseconds
  EXPECT_NEAR(metric(p, "bandwidth_gpu1"), 100e9, 1e8);
  EXPECT_TRUE(p.verified);
}

TEST_F(GpuWorkloads, P2pMeasuresEveryPairInBothDirections) {
  settings.gpus.resize(3, HostGpuSettings{});
  settings.gpus[2].peer = 5e9;
  const PointResult p = run_one("use: p2p, size: 256KiB, copies: 16, verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_EQ(p.repetitions.at(0).phases.size(), 6u);
  EXPECT_NEAR(metric(p, "bandwidth_gpu0_gpu1"), 20e9, 1e7);
  EXPECT_NEAR(metric(p, "bandwidth_gpu1_gpu0"), 20e9, 1e7);
  EXPECT_NEAR(metric(p, "bandwidth_gpu2_gpu0"), 5e9, 1e7);
  EXPECT_NEAR(metric(p, "bandwidth"), 5e9, 1e7);
}

TEST_F(GpuWorkloads, AFanOfCopiesShowsInterference) {
  settings.gpus.resize(3, HostGpuSettings{});
  for (const char* pattern : {"one_to_all", "all_to_one"}) {
    const auto fan = [&](const char* initiator) {
      return run_one(std::string("use: p2p_fan, size: 256KiB, copies: 16, verify: true, pattern: ") + pattern +
                     ", initiator: " + initiator);
    };
    // One GPU makes all copies, one after the other; or each of the others makes its own.
    const bool out = pattern == std::string("one_to_all");
    const PointResult one = fan(out ? "source" : "target"), each = fan(out ? "target" : "source");
    ASSERT_EQ(one.status, PointStatus::ok) << one.reason;
    ASSERT_EQ(each.status, PointStatus::ok) << each.reason;
    EXPECT_EQ(one.repetitions.at(0).phases.size(), 6u);
    EXPECT_NEAR(metric(one, "bandwidth"), 20e9, 1e8) << pattern;
    EXPECT_NEAR(metric(one, "share_of_pairs"), 0.5, 0.01) << pattern;
    EXPECT_NEAR(metric(each, "bandwidth_gpu1"), 40e9, 2e8) << pattern;
    EXPECT_NEAR(metric(each, "share_of_pairs"), 1, 0.01) << pattern;
    EXPECT_TRUE(each.verified);
  }
  EXPECT_EQ(gpus->objects(), 0);
}

TEST_F(GpuWorkloads, CopiesByKernelsAreNotTheCopyEngines) {
  settings.gpus.resize(2, HostGpuSettings{});
  const PointResult within = run_one("use: d2d, by: cores, size: 256KiB, copies: 16, verify: true");
  ASSERT_EQ(within.status, PointStatus::ok) << within.reason;
  EXPECT_NEAR(metric(within, "bandwidth"), 15e9, 1e8);
  EXPECT_EQ(gpus->copies(0), 2u) << "what fills the memory, and looks at it";
  EXPECT_TRUE(within.verified);
  const PointResult between = run_one("use: p2p, by: cores, direction: both, size: 256KiB, copies: 16, verify: true");
  EXPECT_NEAR(metric(between, "bandwidth_gpu0_gpu1"), 15e9, 1e8);
  const PointResult fan = run_one("use: p2p_fan, by: cores, size: 256KiB, copies: 16, verify: true");
  EXPECT_NEAR(metric(fan, "bandwidth"), 15e9, 1e8);
  EXPECT_TRUE(fan.wrong_blocks.empty());
}

TEST_F(GpuWorkloads, ALoadTakesAsLongAsItsMemoryIsFar) {
  settings.gpus.resize(2, HostGpuSettings{});
  settings.gpus[1].other_load_ns = 2'500;
  const PointResult p = run_one("use: gpu_latency, size: 64KiB, stride: 64B, loads: 3000");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_NEAR(metric(p, "device_latency_ns"), 500, 1);
  EXPECT_NEAR(metric(p, "host_latency_ns_gpu0"), 1500, 1);
  EXPECT_NEAR(metric(p, "host_latency_ns"), 2500, 1);
  EXPECT_NEAR(metric(p, "peer_latency_ns_gpu0_gpu1"), 1500, 1);
  EXPECT_NEAR(metric(p, "peer_latency_ns_gpu1_gpu0"), 2500, 1);
  settings.gpus.resize(1);
  const PointResult alone = run_one("use: gpu_latency, size: 64KiB, stride: 64B, loads: 3000");
  EXPECT_FALSE(has(alone, "peer_latency_ns"));
  EXPECT_NEAR(metric(alone, "host_latency_ns"), 1500, 1);
  EXPECT_EQ(gpus->objects(), 0);
}

/// What was loaded once comes from a cache the next time: each repetition goes on where the last one ended.
TEST_F(GpuWorkloads, ALoadIsOfMemoryAndNotOfACache) {
  settings.gpus.front().cached_load_ns = 100;
  const PointResult p = run_one("use: gpu_latency, size: 8MiB, stride: 256B, loads: 1000");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  for (const MetricSummary& m : p.metrics) {
    if (m.name != "device_latency_ns") continue;
    EXPECT_GE(m.values.size(), 3u);
    for (const double ns : m.values) EXPECT_NEAR(ns, 500, 1);
  }
  EXPECT_FALSE(noted(p, "has a cache of"));
  settings.gpus.front().facts.cache = 5 << 20;
  const PointResult held = run_one("use: gpu_latency, size: 8MiB, stride: 256B, loads: 1000");
  EXPECT_TRUE(noted(held, "gpu0 has a cache of 5.00 MiB, and the places take 4.00 MiB of it"));
}

/// Each GPU holds its source, and a target for each other one.
TEST_F(GpuWorkloads, AFanThatHasNoRoomIsSkippedBeforeItBegins) {
  settings.gpus.resize(4, HostGpuSettings{});
  for (const char* use : {"p2p_fan, pattern: all_to_one", "p2p_fan, pattern: one_to_all", "p2p, direction: both"}) {
    const std::string point = std::string("use: ") + use + ", size: 1MiB, copies: 1";
    for (auto& gpu : settings.gpus) gpu.facts.memory = 5 << 19;
    const PointResult in = run_one(point);
    EXPECT_EQ(in.status, PointStatus::skipped);
    EXPECT_NE(in.reason.find("its buffers would take 4.00 MiB"), std::string::npos) << in.reason;
    for (auto& gpu : settings.gpus) gpu.facts.memory = 5 << 20;
    EXPECT_EQ(run_one(point).status, PointStatus::ok) << use;
  }
}

TEST_F(GpuWorkloads, AFanFindsWrongBytesAndUnreachableGpus) {
  settings.gpus.resize(2, HostGpuSettings{});
  settings.gpus[1].corrupts = CopyKind::d2d;
  const PointResult p = run_one("use: p2p_fan, size: 64KiB, copies: 4, verify: true");
  EXPECT_FALSE(p.wrong_blocks.empty());
  settings.gpus[1].corrupts.reset();
  settings.gpus[0].has_peers = false;
  EXPECT_EQ(run_one("use: p2p_fan, size: 64KiB").reason, "gpu0 reaches no other GPU's memory without the host");
  settings.gpus.resize(1);
  EXPECT_EQ(run_one("use: p2p_fan").reason, "needs 2 GPUs, here is 1");
}

TEST_F(GpuWorkloads, P2pSaysWhyItCannot) {
  PointResult p = run_one("use: p2p, size: 64KiB");
  EXPECT_EQ(p.status, PointStatus::skipped);
  EXPECT_EQ(p.reason, "needs 2 GPUs, here is 1");
  settings.gpus.resize(2, HostGpuSettings{});
  for (HostGpuSettings& gpu : settings.gpus) gpu.has_peers = false;
  p = run_one("use: p2p, size: 64KiB");
  EXPECT_EQ(p.reason, "no GPU reaches another one's memory without the host");
}

TEST_F(GpuWorkloads, CheckpointStageIsAsSlowAsTheSlowestGpu) {
  settings.gpus.resize(2, HostGpuSettings{});
  settings.gpus[1].d2h = 0.5e9;
  const PointResult p = run_one("use: checkpoint_stage, size: 5MiB, chunk_size: 64KiB, verify: true");  // 80 chunks
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  const double bytes = 5 << 20;
  EXPECT_GE(metric(p, "stall_s"), bytes / 0.5e9);  // waits are real: never shorter
  EXPECT_NEAR(metric(p, "stage_bandwidth") * metric(p, "stall_s"), 2 * bytes, 1);
  EXPECT_LE(metric(p, "bandwidth"), 0.5e9);
  EXPECT_EQ(metric(p, "bandwidth"), metric(p, "bandwidth_gpu1"));
  EXPECT_EQ(p.repetitions.at(0).phases.at(0).operations, 160u);
  EXPECT_TRUE(p.verified);
  EXPECT_EQ(gpus->objects(), 0);
}

TEST_F(GpuWorkloads, CheckpointStageFindsWrongData) {
  settings.gpus[0].corrupts = CopyKind::d2h;
  const PointResult p =
      run_one("use: checkpoint_stage, size: 1MiB, chunk_size: 256KiB, memory: pageable, verify: true");
  EXPECT_EQ(p.status, PointStatus::error);
  ASSERT_EQ(p.wrong_blocks.size(), 1u);
  EXPECT_EQ(p.wrong_blocks[0].offset, 128u * 1024);
}

TEST_F(GpuWorkloads, ABatchThatIsHidden) {
  const PointResult p = run_one(
      "use: h2d_batch, samples: 8, sample_size: 10000B, pool: 1MiB, compute_time: 20ms, steps: 6, "
      "verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_LE(metric(p, "copy_bandwidth"), 10e9 * (1 + 1e-4));  // a copy queued late looks slower
  EXPECT_EQ(metric(p, "exposed_predicted_s"), 0);             // 8 us of copying behind 20 ms of computing
  EXPECT_GE(metric(p, "step_time_s"), 20e-3 - 1e-9);
  EXPECT_EQ(p.repetitions.at(0).phases.at(0).operations, 6u);
  EXPECT_TRUE(p.verified);
}

TEST_F(GpuWorkloads, ABatchThatIsWaitedFor) {
  // A copy of 1 ms and a kernel of 1 ms, one after the other.
  settings.gpus[0].h2d = 80e6;
  const PointResult p = run_one(
      "use: h2d_batch, asynchronous: false, samples: 8, sample_size: 10000B, pool: 1MiB, "
      "compute_time: 1ms, steps: 5");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_GE(metric(p, "exposed_predicted_s"), 1e-3 - 1e-6);
  EXPECT_GE(metric(p, "exposed_time_s"), 1e-3 - 1e-6);
  EXPECT_GE(metric(p, "step_time_s"), 2e-3 - 1e-6);
  EXPECT_LE(metric(p, "gpu_busy"), 0.5 + 1e-3);
}

TEST_F(GpuWorkloads, ALinkTooSlowForTheBatchShows) {
  settings.gpus[0].h2d = 40e6;  // 2 ms for the batch, beside 1 ms of computing
  const PointResult p = run_one(
      "use: h2d_batch, samples: 8, sample_size: 10000B, pool: 1MiB, compute_time: 1ms, steps: 6, "
      "verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_GE(metric(p, "exposed_predicted_s"), 1e-3 - 1e-6);
  EXPECT_GE(metric(p, "step_time_s"), 2e-3 - 1e-6);
}

TEST_F(GpuWorkloads, PageableBatchesAreNotAsynchronous) {
  const PointResult p = run_one(
      "use: h2d_batch, memory: pageable, samples: 8, sample_size: 10000B, pool: 1MiB, "
      "compute_time: 1ms, steps: 5");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_TRUE(noted(p, "not really asynchronous"));
  EXPECT_GT(metric(p, "exposed_predicted_s"), 0);
}

const char* const kShards = "files: 3, file_size: 300000B, block_size: 64KiB, workers: 2, cache: asis, verify: true";

TEST_F(GpuWorkloads, EveryByteGoesFromStorageToTheGpu) {
  for (const char* how :
       {"method: pageable", "method: pipelined", "method: pipelined, engine: io_uring, queue_depth: 4",
        "method: cufile", "method: cufile, calls: batch, reads_in_flight: 5",
        "method: cufile, calls: stream, reads_in_flight: 4", "method: cufile, calls: batch"}) {
    const bool straight = std::string(how).starts_with("method: cufile");
    if (std::string(how).find("io_uring") != std::string::npos && !node.backends().why_not("io_uring").empty())
      continue;
    const PointResult p = run_one("use: storage_to_gpu, " + std::string(how) + ", " + kShards);
    ASSERT_EQ(p.status, PointStatus::ok) << how << ": " << p.reason;
    EXPECT_TRUE(p.verified);
    const auto& phases = p.repetitions.at(0).phases;
    ASSERT_EQ(phases.size(), straight ? 1u : 3u);
    for (const PhaseResult& phase : phases) EXPECT_EQ(phase.bytes, 900'000u) << how << " " << phase.name;
    EXPECT_TRUE(has(p, "bandwidth"));
    EXPECT_EQ(has(p, "pipeline_efficiency"), !straight);
    EXPECT_EQ(p.stages.empty(), straight);
    for (std::size_t i = 0; i + 1 < p.stages.size(); i += 2) {  // each block is read, then copied
      EXPECT_EQ(p.stages[i].stage, "read");
      EXPECT_EQ(p.stages[i + 1].stage, "copy");
      EXPECT_EQ(p.stages[i].item, i / 2);
      EXPECT_LT(p.stages[i].begin_s, p.stages[i].end_s);
      EXPECT_LE(p.stages[i].end_s, p.stages[i + 1].begin_s);
      EXPECT_LT(p.stages[i + 1].begin_s, p.stages[i + 1].end_s);
    }
    EXPECT_TRUE(straight ? noted(p, "GPUDirect Storage: by the test") : noted(p, "limits")) << how;
    EXPECT_EQ(gpus->objects(), 0);
    EXPECT_EQ(gpus->pinned_bytes(), 0u);
  }
}

TEST_F(GpuWorkloads, TheSlowLinkIsNamed) {
  settings.gpus[0].h2d = 30e6;
  const PointResult p = run_one("use: storage_to_gpu, method: pipelined, " + std::string(kShards));
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_LE(metric(p, "copy_bandwidth"), 30e6);
  EXPECT_LE(metric(p, "bandwidth"), 30e6);
}

TEST_F(GpuWorkloads, WrongBytesInDeviceMemoryAreFound) {
  settings.gpus[0].corrupts = CopyKind::h2d;
  const PointResult p = run_one("use: storage_to_gpu, method: pipelined, " + std::string(kShards));
  EXPECT_EQ(p.status, PointStatus::error);
  EXPECT_NE(p.reason.find("in the memory of gpu0"), std::string::npos) << p.reason;
}

TEST_F(GpuWorkloads, WithoutCuFileItSaysSo) {
  settings.no_files = "libcufile.so.0 not found: no GPUDirect Storage";
  const PointResult p = run_one("use: storage_to_gpu, method: cufile, " + std::string(kShards));
  EXPECT_EQ(p.status, PointStatus::skipped);
  EXPECT_EQ(p.reason, "libcufile.so.0 not found: no GPUDirect Storage");
}

TEST_F(GpuWorkloads, PairsAreReadByTheTargetAndCopiedInBothDirectionsAtOnce) {
  settings.gpus.resize(2, HostGpuSettings{});
  settings.gpus[0].peer = 20e9;
  settings.gpus[1].peer = 10e9;  // of copies that it makes
  const auto rates = [&](const char* more) {
    const PointResult p = run_one(std::string("use: p2p, size: 1MiB, copies: 16, verify: true") + more);
    EXPECT_EQ(p.status, PointStatus::ok) << p.reason;
    EXPECT_TRUE(p.verified) << more;
    return std::pair(metric(p, "bandwidth_gpu0_gpu1"), metric(p, "bandwidth_gpu1_gpu0"));
  };
  const auto [written, back] = rates("");
  EXPECT_NEAR(written, 20e9, 1e6);
  EXPECT_NEAR(back, 10e9, 1e6);
  const auto [read, read_back] = rates(", initiator: target");  // the other GPU copies
  EXPECT_NEAR(read, 10e9, 1e6);
  EXPECT_NEAR(read_back, 20e9, 1e6);
  const auto [one, other] = rates(", direction: both");  // engines of their own: neither is slower for it
  EXPECT_NEAR(one, 20e9, 1e6);
  EXPECT_NEAR(other, 10e9, 1e6);
  EXPECT_EQ(gpus->objects(), 0);
}

TEST_F(GpuWorkloads, WithoutADriverAllOfThemSaySo) {
  settings.unusable = "libcuda.so.1 not found: no NVIDIA driver";
  for (const char* use : {"h2d", "d2h", "pin_memory", "h2d_batch", "d2d", "p2p", "p2p_fan", "gpu_latency", "gpu_burn",
                          "gpu_memory", "gpu_decode", "checkpoint_stage", "storage_to_gpu"}) {
    const PointResult p = run_one(std::string("use: ") + use);
    EXPECT_EQ(p.status, PointStatus::skipped) << use;
    EXPECT_EQ(p.reason, "cuda: libcuda.so.1 not found: no NVIDIA driver") << use;
  }
}

TEST_F(GpuWorkloads, NeedsAreJudgedPerGpuAndForTheNode) {
  settings.gpus.resize(2, HostGpuSettings{});
  folder.write("job.yaml",
               "schema: 1\njob: j\ncluster: {nodes: 1, gpus_per_node: 2}\nstep: {time: 100ms, "
               "micro_batch: 64}\n"
               "dataset: {layout: files, samples: 1e6, sample_size: 100kB, decoded_size: 600kB}\n");
  const std::string job = folder / "job.yaml";
  const auto judged = [&](const RunResult& r) {
    std::map<std::string, const Judgement*> by_scope;
    for (const Judgement& j : r.judgements) by_scope[j.scope] = &j;
    return by_scope;
  };
  const RunResult r = run({"use: h2d, size: 1MiB, copies: 8", "use: h2d, label: all, gpus: all, size: 1MiB, copies: 8"},
                          "needs: [gpu.h2d_bandwidth]\n", job);
  const auto by_scope = judged(r);
  ASSERT_EQ(by_scope.size(), 2u);
  EXPECT_EQ(by_scope.at("gpu")->metric, "h2d.bandwidth");
  EXPECT_NEAR(by_scope.at("gpu")->measured.value_or(0), 10e9, 1e6);
  EXPECT_EQ(by_scope.at("node")->metric, "h2d.node_bandwidth");
  EXPECT_NEAR(by_scope.at("node")->measured.value_or(0), 20e9, 1e6);
  EXPECT_EQ(by_scope.at("node")->point, "h2d/all");
}

}  // namespace
}  // namespace headrace::gpu_workloads_test
