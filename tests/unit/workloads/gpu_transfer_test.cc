// h2d and d2h on GPUs whose speeds are known: what is timed, how it is queued, what is reported, what
// goes wrong.
#include <gtest/gtest.h>

#include "harness/base/diagnostics.h"
#include "tests/unit/gpu_run.h"
#include "workloads/gpu/host_area.h"

namespace headrace::gpu_transfer_test {
namespace {

using testing::HostGpuSettings;

struct Transfers : testing::GpuRun {};

TEST_F(Transfers, PinnedCopiesAreTimedByTheDevice) {
  for (const char* memory : {"pinned", "registered", "write_combined"}) {
    const PointResult p = run_one(std::string("use: h2d, size: 1MiB, copies: 32, memory: ") + memory);
    ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
    EXPECT_NEAR(metric(p, "bandwidth"), 10e9, 1e5) << memory;
    EXPECT_NEAR(metric(p, "bandwidth_gpu0"), 10e9, 1e5);
    EXPECT_NEAR(metric(p, "node_bandwidth"), 10e9, 1e5);
    EXPECT_NEAR(metric(p, "copy_rate"), 10e9 / (1 << 20), 1);
    EXPECT_NEAR(metric(p, "copy_time_s"), (1 << 20) / 10e9, 1e-9);
    EXPECT_LE(metric(p, "host_bandwidth"), 10e9);
    EXPECT_EQ(p.repetitions.at(0).phases.at(0).bytes, 32u << 20);
    EXPECT_EQ(p.repetitions[0].phases[0].operations, 2u);  // batches
    EXPECT_EQ(p.repetitions[0].phases[0].parts.at(0).total(), 32u);
  }
}

TEST_F(Transfers, TheOtherDirectionHasItsOwnRate) {
  const PointResult p = run_one("use: d2h, size: 1MiB, copies: 16, verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_NEAR(metric(p, "bandwidth"), 8e9, 1e5);
  EXPECT_TRUE(p.verified);
}

TEST_F(Transfers, SmallCopiesHaveAFixedCost) {
  settings.gpus[0].copy_ns = 2000;
  const PointResult p = run_one("use: h2d, size: 4KiB, copies: 64");
  EXPECT_NEAR(metric(p, "copy_time_s"), 2e-6 + 4096 / 10e9, 1e-9);
  EXPECT_NEAR(metric(p, "copy_rate"), 1 / (2e-6 + 4096 / 10e9), 300);
}

TEST_F(Transfers, NoMoreCopiesWaitBehindTheGateThanAsked) {
  run_one("use: h2d, size: 4KiB, copies: 40, copies_in_flight: 8");
  EXPECT_EQ(gpus->most_held(), 8u);
  run_one("use: h2d, size: 4KiB, copies: 40, copies_in_flight: 40");
  EXPECT_EQ(gpus->most_held(), 40u);
}

TEST_F(Transfers, StreamsShareTheLink) {
  const PointResult p = run_one("use: h2d, size: 256KiB, copies: 16, streams: 4, verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_NEAR(metric(p, "bandwidth"), 10e9, 1e6);
  EXPECT_EQ(p.repetitions.at(0).phases.at(0).bytes, 4u * 16 * 256 * 1024);
  EXPECT_NEAR(metric(p, "copy_time_s"), 4 * 262'144 / 10e9, 1e-8);
}

TEST_F(Transfers, TheOtherDirectionInParallel) {
  const PointResult p = run_one("use: h2d, direction: both, size: 1MiB, copies: 16, verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_NEAR(metric(p, "bandwidth"), 10e9, 1e5);  // these engines do not share
  EXPECT_GE(gpus->copies(0), 3 * (16u + 32u));
}

TEST_F(Transfers, PageableCopiesWaitAndAreTimedByTheHost) {
  const PointResult p = run_one("use: h2d, memory: pageable, size: 1MiB, copies: 8, verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  // Staging at 5 GB/s, then the link at 10 GB/s: never faster, however slow this machine is.
  EXPECT_LE(metric(p, "bandwidth"), 1 / (1 / 5e9 + 1 / 10e9));
  EXPECT_EQ(metric(p, "bandwidth"), metric(p, "host_bandwidth"));
  EXPECT_EQ(p.repetitions.at(0).phases.at(0).operations, 8u);
  EXPECT_NEAR(metric(p, "pinned_bandwidth"), 10e9, 1e5);
  const double memory = metric(p, "memcpy_bandwidth");
  EXPECT_NEAR(metric(p, "pageable_serial_bandwidth"), 1 / (1 / memory + 1 / 10e9), 1e5);
  EXPECT_NEAR(metric(p, "pageable_pipelined_bandwidth"), std::min(memory, 10e9), 1e5);
}

TEST_F(Transfers, PageableStreamsHaveAThreadEach) {
  const PointResult p = run_one("use: d2h, memory: pageable, size: 64KiB, copies: 4, streams: 3, verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_EQ(p.repetitions.at(0).phases.at(0).worker_bytes.size(), 3u);
  EXPECT_FALSE(has(p, "pageable_serial_bandwidth"));  // the bounds are one thread's
}

TEST_F(Transfers, EachGpuAloneIsAPhaseOfItsOwn) {
  settings.gpus.resize(3, HostGpuSettings{});
  settings.gpus[1].h2d = 2.5e9;
  const PointResult p = run_one("use: h2d, size: 1MiB, copies: 4");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_NEAR(metric(p, "bandwidth"), 2.5e9, 1e5);
  EXPECT_NEAR(metric(p, "bandwidth_gpu0"), 10e9, 1e5);
  EXPECT_NEAR(metric(p, "bandwidth_gpu1"), 2.5e9, 1e5);
  EXPECT_FALSE(has(p, "node_bandwidth"));
  ASSERT_EQ(p.repetitions.at(0).phases.size(), 3u);
  EXPECT_EQ(p.repetitions[0].phases[1].name, "gpu1");
  EXPECT_EQ(p.repetitions[0].phases[1].bytes, 4u << 20);
}

TEST_F(Transfers, AllGpusAtOnceAreAsFastAsTheSlowest) {
  settings.gpus.resize(2, HostGpuSettings{});
  settings.gpus[1].h2d = 5e9;
  const PointResult p = run_one("use: h2d, gpus: all, size: 1MiB, copies: 8");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_EQ(p.repetitions.at(0).phases.size(), 1u);
  EXPECT_EQ(p.repetitions[0].phases[0].worker_bytes.size(), 2u);
  EXPECT_NEAR(metric(p, "bandwidth"), 5e9, 1e5);
  EXPECT_NEAR(metric(p, "node_bandwidth"), 10e9, 1e5);  // both GPUs' bytes in the slower one's time
}

TEST_F(Transfers, TheLinkIsShownWithTheFigures) {
  settings.gpus[0].h2d = 50e9;
  PointResult p = run_one("use: h2d, size: 1MiB, copies: 8");
  EXPECT_NEAR(metric(p, "link_bandwidth"), 63.02e9, 1e7);
  EXPECT_NEAR(metric(p, "link_share"), 50 / 63.02, 1e-3);
  EXPECT_EQ(metric(p, "link_trained"), 1);
  EXPECT_EQ(metric(p, "error_count"), 0);
  settings.gpus[0].state.link = {4, 8};
  p = run_one("use: h2d, size: 1MiB, copies: 8");
  EXPECT_NEAR(metric(p, "link_trained"), 0.25, 1e-3);
  EXPECT_TRUE(noted(p, "gpu0: link runs as Gen4 x8 under load, it could as Gen5 x16"));
  settings.gpus[0].state.link = {};
  p = run_one("use: h2d, size: 1MiB, copies: 8");
  EXPECT_FALSE(has(p, "link_bandwidth"));
  EXPECT_FALSE(has(p, "link_share"));
}

TEST_F(Transfers, PciExpressSaysNothingWhereTheHostsMemoryIsShared) {
  settings.gpus[0].facts.coherent = true;
  settings.gpus[0].facts.link_max = settings.gpus[0].state.link = {1, 1};  // what drivers give then
  settings.gpus[0].h2d = 380e9;
  PointResult p = run_one("use: h2d, size: 16MiB, copies: 8");
  for (const char* name : {"link_bandwidth", "link_share", "link_trained", "link_effective_bandwidth"})
    EXPECT_FALSE(has(p, name)) << name;
  settings.gpus[0].facts.c2c = {.count = 10, .most = 10, .rate = 447.12e9};
  p = run_one("use: h2d, size: 16MiB, copies: 8");
  EXPECT_NEAR(metric(p, "link_bandwidth"), 447.12e9, 1e6);
  EXPECT_NEAR(metric(p, "link_share"), 380 / 447.12, 1e-2);
  EXPECT_EQ(metric(p, "link_trained"), 1);
  EXPECT_FALSE(has(p, "link_effective_bandwidth"));
  settings.gpus[0].facts.c2c = {.count = 8, .most = 10, .rate = 357.7e9};
  p = run_one("use: h2d, size: 16MiB, copies: 8");
  EXPECT_NEAR(metric(p, "link_trained"), 0.8, 1e-9);
  EXPECT_TRUE(noted(p, "gpu0: 8 of 10 links of NVLink-C2C are up"));
}

TEST_F(Transfers, ANeedOfALinkThatIsNotReportedSaysWhy) {
  settings.gpus[0].facts.coherent = true;
  const RunResult r = run({"use: h2d, size: 1MiB, copies: 8"},
                          "needs: [{id: gpu.link_share, metric: h2d.link_share, at_least: 0.75, source: a test}]\n");
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].outcome, Outcome::skipped);
  EXPECT_NE(
      r.judgements[0].explanation.find("gpu0 is reached by NVLink-C2C and not by PCI Express, and the driver does "
                                       "not report that link's rate"),
      std::string::npos)
      << r.judgements[0].explanation;
}

/// An Xid of the hardware is a fault of the GPU; that of a program may be another program's.
TEST_F(Transfers, XidsCountAndDisturbWhereAProgramIsTheReason) {
  settings.gpus[0].state.xids = {31};
  PointResult p = run_one("use: h2d, size: 64KiB, copies: 4");
  ASSERT_FALSE(p.repetitions.empty());
  EXPECT_TRUE(p.repetitions[0].disturbance.disturbed);
  EXPECT_NE(p.repetitions[0].disturbance.why.find("gpu0: the driver reported Xid 31 (an invalid access to memory)"),
            std::string::npos)
      << p.repetitions[0].disturbance.why;
  EXPECT_GE(metric(p, "error_count"), 1);
  EXPECT_EQ(metric(p, "error_count"), metric(p, "error_count_gpu0"));
  EXPECT_TRUE(p.repetitions[0].faults.empty());
  settings.gpus[0].state.xids = {74};
  p = run_one("use: h2d, size: 64KiB, copies: 4");
  EXPECT_FALSE(p.repetitions.at(0).disturbance.disturbed);
  EXPECT_TRUE(noted(p, "Xid 74 (an NVLink failed)"));
  EXPECT_EQ(p.repetitions[0].faults.at(0).count, "fatal_xids");
}

struct Broken {
  const char* what;  // as the judgement says
  std::function<void(HostGpuSettings&)> makes;
};

/// Whatever else ran, and though nobody asked: the GPU is named, the others keep their values, and the run ends with 10.
TEST_F(Transfers, OneOccurrenceOfAFaultFailsTheGpu) {
  const Broken all[] = {
      {"12 uncorrected memory errors", [](auto& gpu) { gpu.state.ecc_uncorrected = 12; }},
      {"no spare row was left", [](auto& gpu) { gpu.state.remap_failed = true; }},
      {"a row of memory waits to be remapped", [](auto& gpu) { gpu.state.remap_pending = true; }},
      {"Xid 79 (the GPU has fallen off the bus)", [](auto& gpu) { gpu.state.xids = {79}; }},
      {"Xid 149 (an NVLink failed)",
       [](auto& gpu) {
         gpu.state.xids = {31, 149};
       }},
      {"degraded bandwidth", [](auto& gpu) { gpu.facts.fabric = "degraded bandwidth"; }},
      {"copy on gpu1: the GPU has fallen off the bus", [](auto& gpu) { gpu.lost_after = 9; }},
      {"the GPU has fallen off the bus", [](auto& gpu) { gpu.lost_after = 0; }},
      {"the copy differs from the sent data", [](auto& gpu) { gpu.corrupts = CopyKind::h2d; }},
  };
  for (const Broken& one : all) {
    settings.gpus.assign(3, HostGpuSettings{});
    one.makes(settings.gpus[1]);
    const RunResult r = run({"use: h2d, size: 64KiB, copies: 4, verify: true"});
    const PointResult& p = r.points.at(0);
    ASSERT_EQ(r.judgements.size(), 1u) << one.what << ": " << p.reason;
    EXPECT_EQ(r.judgements[0].scope, "gpu1") << one.what;
    EXPECT_NE(r.judgements[0].explanation.find(one.what), std::string::npos) << r.judgements[0].explanation;
    EXPECT_NE(r.judgements[0].next_step, "");
    EXPECT_EQ(r.summary.exit_code, 10) << one.what;
    EXPECT_TRUE(has(p, "bandwidth_gpu0") && has(p, "bandwidth_gpu2")) << one.what << ": " << p.reason;
  }
}

TEST_F(Transfers, SoundGpusAreAccusedOfNothing) {
  settings.gpus.assign(2, HostGpuSettings{});
  for (HostGpuSettings& gpu : settings.gpus) {
    gpu.state.held_back = "power limit";
    gpu.state.ecc_corrected = 40;
    gpu.state.remapped_rows = 2;
    gpu.state.nvlink_errors = 7;
    gpu.facts.fabric = "in progress";
  }
  for (const char* use : {"h2d", "d2h", "d2d", "p2p"}) {
    const RunResult r = run({std::string("use: ") + use + ", size: 64KiB, copies: 4, verify: true"});
    EXPECT_TRUE(r.judgements.empty()) << use << ": " << r.judgements[0].explanation;
    EXPECT_EQ(r.summary.exit_code, 0) << use << ": " << r.points[0].reason;
  }
}

TEST_F(Transfers, OneProcessOfEachNodeUnlessAllAreAskedFor) {
  run({"use: h2d, size: 64KiB, copies: 4", "use: h2d, label: all, size: 64KiB, copies: 4, processes: all",
       "use: d2d, size: 64KiB, copies: 4", "use: host_facts"});
  EXPECT_TRUE(plan.points.at(0).one_per_node);
  EXPECT_FALSE(plan.points[0].params.contains("processes"));  // it goes without saying
  EXPECT_FALSE(plan.points.at(1).one_per_node);
  EXPECT_EQ(plan.points[1].params.at("processes"), ParamValue(std::string("all")));
  EXPECT_TRUE(plan.points.at(2).one_per_node);
  EXPECT_FALSE(plan.points.at(3).one_per_node);
}

/// Sound GPUs work at their power limit, and one that gets too hot is what is looked for.
TEST_F(Transfers, HeldBackClocksAreReportedAndDisturbNothing) {
  for (const char* why : {"power limit", "thermal, by hardware"}) {
    settings.gpus[0].state.held_back = why;
    const PointResult p = run_one("use: h2d, size: 64KiB, copies: 4");
    ASSERT_FALSE(p.repetitions.empty());
    for (const Repetition& r : p.repetitions) EXPECT_FALSE(r.disturbance.disturbed) << r.disturbance.why;
    EXPECT_TRUE(noted(p, std::string("gpu0 was held back: ") + why));
  }
}

TEST_F(Transfers, CountersThatRoseAreReported) {
  settings.gpus[0].state.replays = 5;
  settings.gpus[0].replays_per_copy = 1;
  const PointResult p = run_one("use: h2d, size: 64KiB, copies: 4");
  EXPECT_EQ(metric(p, "error_count"), 8);  // warm-up and timed copies
  EXPECT_TRUE(noted(p, "gpu0: the PCIe replay counter rose during the run"));
}

TEST_F(Transfers, WrongDataIsFound) {
  for (const auto& [use, kind] : {std::pair{"h2d", CopyKind::h2d}, {"d2h", CopyKind::d2h}}) {
    settings.gpus[0].corrupts = kind;
    const PointResult p = run_one(std::string("use: ") + use + ", size: 64KiB, copies: 4, verify: true");
    EXPECT_EQ(p.status, PointStatus::error);
    ASSERT_EQ(p.wrong_blocks.size(), 1u) << p.reason;
    EXPECT_EQ(p.wrong_blocks[0].file, "gpu0 stream 0");
    EXPECT_EQ(p.wrong_blocks[0].offset, 32'768u);
  }
}

TEST_F(Transfers, ALostGpuIsAnErrorAndTheOthersGoOn) {
  settings.gpus[0].lost_after = 30;
  const RunResult r = run({"use: h2d, size: 64KiB, copies: 16", "use: host_facts"});
  EXPECT_EQ(r.points.at(0).status, PointStatus::error);
  EXPECT_NE(r.points[0].reason.find("the driver has lost the GPUs"), std::string::npos) << r.points[0].reason;
  EXPECT_EQ(r.points.at(1).status, PointStatus::ok);
}

TEST_F(Transfers, ACopyThatNeverEndsIsGivenUpAndTheOthersGoOn) {
  settings.gpus.resize(2, HostGpuSettings{});
  settings.gpus[0].hangs_after = 6;
  const RunResult r = run({"use: h2d, size: 64KiB, copies: 16", "use: d2h, size: 64KiB, copies: 16"});
  for (const PointResult& p : r.points) {
    EXPECT_EQ(p.status, PointStatus::ok) << p.reason;
    EXPECT_TRUE(has(p, "bandwidth_gpu1") && !has(p, "bandwidth_gpu0"));
  }
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].scope, "gpu0");
  EXPECT_NE(r.judgements[0].explanation.find("TIMEOUT"), std::string::npos) << r.judgements[0].explanation;
  EXPECT_EQ(abandoned_threads(), 0u);
}

TEST(HostArea, SaysThatItsNodeHadNoRoom) {
  EXPECT_EQ(gpu::place_text(1, 1), "on NUMA node 1");
  EXPECT_EQ(gpu::place_text(1, -1), "on NUMA node 1");
  EXPECT_EQ(gpu::place_text(1, 0), "on NUMA node 1, for node 0 had no room: copies cross");
  EXPECT_EQ(gpu::place_text(-1, 0), "on an unknown NUMA node");
}

TEST_F(Transfers, RefusedPinningIsAnErrorWithItsReason) {
  settings.most_pinned = 1 << 20;
  for (const char* memory : {"pinned", "registered", "write_combined"}) {
    const PointResult p = run_one(std::string("use: h2d, size: 64MiB, copies: 4, memory: ") + memory);
    EXPECT_EQ(p.status, PointStatus::error);
    EXPECT_NE(p.reason.find("refused by the test"), std::string::npos) << p.reason;
  }
  EXPECT_EQ(gpus->objects(), 0);
}

TEST_F(Transfers, EverythingIsGivenBack) {
  run_one("use: h2d, size: 64KiB, copies: 4, streams: 2, direction: both, verify: true");
  EXPECT_EQ(gpus->objects(), 0);
  EXPECT_EQ(gpus->pinned_bytes(), 0u);
}

TEST_F(Transfers, SkipsNameTheMissingPart) {
  settings.unusable = "libcuda.so.1 not found: no NVIDIA driver";
  PointResult p = run_one("use: h2d");
  EXPECT_EQ(p.status, PointStatus::skipped);
  EXPECT_EQ(p.reason, "cuda: libcuda.so.1 not found: no NVIDIA driver");
  settings.unusable.clear();
  p = run_one("use: h2d, size: 2GiB");
  EXPECT_EQ(p.status, PointStatus::skipped);
  EXPECT_EQ(p.reason, "gpu0 has 1.00 GiB of memory, its buffers would take 2.00 GiB");
}

TEST_F(Transfers, ASliceAndAnUnknownNodeAreReported) {
  settings.gpus[0].facts.slice = true;
  const PointResult p = run_one("use: h2d, size: 64KiB, copies: 4");
  EXPECT_TRUE(noted(p, "gpu0 is in MIG mode"));
  EXPECT_TRUE(noted(p, "gpu0: Test GPU, buffers on "));
}

TEST_F(Transfers, RejectsInvalidParameters) {
  const auto problem = [this](const std::string& entry) -> std::string {
    try {
      run({entry});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(problem("use: h2d, memory: pinnd").find("did you mean 'pinned'?"), std::string::npos);
  EXPECT_NE(problem("use: h2d, direction: d2h").find("is not one of"), std::string::npos);
  EXPECT_NE(problem("use: h2d, direction: both, memory: pageable").find("pageable copies are made one at a time"),
            std::string::npos);
  EXPECT_NE(problem("use: h2d, copies_in_flight: 1000").find("256"), std::string::npos);
}

}  // namespace
}  // namespace headrace::gpu_transfer_test
