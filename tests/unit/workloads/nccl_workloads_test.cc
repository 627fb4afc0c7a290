// The NCCL workloads on GPUs that are host memory: all GPUs in one process and a process each, in and out of place; and
// what is said when data is wrong or a rank does not come.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "harness/backends/loader.h"
#include "tests/unit/host_gpu.h"
#include "tests/unit/host_nccl.h"
#include "tests/unit/thread_ranks.h"
#include "tests/unit/workload_runner.h"

namespace headrace::testing::nccl_workloads_test {
namespace {

const std::map<std::string, double> kFactorsOfFour{
    {"nccl_all_reduce", 1.5}, {"nccl_all_gather", 0.75}, {"nccl_reduce_scatter", 0.75}, {"nccl_all_to_all", 0.75},
    {"nccl_broadcast", 1},    {"nccl_send_recv", 1},     {"nccl_all_to_all_v", 1.5},    {"nccl_reduce", 1},
    {"nccl_gather", 0.75},    {"nccl_scatter", 0.75}};

HostGpuBackend& equip(Node& node, const std::shared_ptr<NcclFabric>& fabric, const HostBackendSettings& settings) {
  auto gpus = std::make_unique<HostGpuBackend>(settings);
  HostGpuBackend& own = *gpus;
  node.backends().replace_gpu(std::move(gpus));
  node.backends().replace_nccl(std::make_unique<HostNcclBackend>(fabric));
  return own;
}
void equip(Node& node, const std::shared_ptr<NcclFabric>& fabric, unsigned gpus) {
  HostBackendSettings settings;
  settings.gpus.resize(gpus);
  equip(node, fabric, settings);
}

struct OneProcess : ::testing::Test {
  std::shared_ptr<NcclFabric> fabric = std::make_shared<NcclFabric>();
  std::map<std::string, double> metrics;

  std::string run(const std::string& workload, const std::string& parameters, unsigned gpus = 4) {
    WorkloadRunner runner(workload, "{" + parameters + "}");
    equip(runner.node(), fabric, gpus);
    if (const auto skip = runner.check()) return skip->reason;
    try {
      runner.prepare();
      runner.repeat();
      runner->verify({});
      metrics = runner.metrics;
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }
};

TEST_F(OneProcess, EveryOperationIsRightAndCountedByItsFactor) {
  for (const auto& [workload, factor] : kFactorsOfFour) {
    for (const char* more : {"", ", in_place: false"}) {
      EXPECT_EQ(run(workload, std::string("message_size: 4000B, calls: 7, batch: 3") + more), "") << workload << more;
      EXPECT_NEAR(metrics["busbw"] / metrics["algbw"], factor, 1e-9) << workload;
      EXPECT_NEAR(metrics["algbw"] * metrics["time_s"], 4000, 1e-6) << workload;
    }
  }
}

TEST_F(OneProcess, EveryOperationIsRightWithEveryTypeOfNumber) {
  for (const auto& [workload, factor] : kFactorsOfFour) {
    for (const char* element : {"f16", "bf16", "f8e4m3", "f8e5m2"}) {
      for (const char* more : {"", ", in_place: false"}) {
        EXPECT_EQ(run(workload, std::string("message_size: 4000B, calls: 3, element: ") + element + more, 5), "")
            << workload << " " << element << more;
        EXPECT_NEAR(metrics["algbw"] * metrics["time_s"], 4000, 1e-6) << workload;
      }
    }
  }
  for (const char* workload : {"nccl_all_reduce", "nccl_reduce", "nccl_reduce_scatter"})
    for (const char* how : {"reduction: max", "reduction: min, element: f8e5m2"})
      EXPECT_EQ(run(workload, std::string("message_size: 4000B, calls: 3, ") + how), "") << workload << " " << how;
  EXPECT_NE(problems_of("nccl_broadcast", "{reduction: max}").find("reduction"), std::string::npos);
  EXPECT_NE(problems_of("nccl_all_reduce", "{element: fp8}").find("f8e4m3"), std::string::npos);
}

TEST_F(OneProcess, FindsOneWrongBitOfEveryTypeOfNumber) {
  fabric->corrupts = true;
  for (const char* element : {"f32", "f16", "bf16", "f8e4m3", "f8e5m2"}) {
    const std::string why = run("nccl_all_reduce", std::string("message_size: 4000B, calls: 3, element: ") + element);
    EXPECT_NE(why.find("rank 3 on "), std::string::npos) << why;
    EXPECT_NE(why.find("(gpu3): wrong data: 1 of "), std::string::npos) << why;
    EXPECT_NE(why.find("element 0 (byte 0 of the result) is "), std::string::npos) << element << ": " << why;
  }
}

TEST_F(OneProcess, NamesTheRankTheGpuAndThePlaceOfAWrongElement) {
  fabric->corrupts = true;
  for (const char* more : {"", ", in_place: false", ", buffer_offset: 4B", ", allocator: cuda"}) {
    fabric->corrupts_byte = 4 * 777;
    const std::string why = run("nccl_all_reduce", std::string("message_size: 4000B, calls: 3") + more, 3);
    EXPECT_NE(why.find("(gpu2): wrong data: 1 of 1000 elements; element 777 (byte 3108 of the result) is "),
              std::string::npos)
        << why;
  }
}

TEST_F(OneProcess, AnOperationThatLeavesTheResultOfAnEarlierOneIsFound) {
  for (const char* more : {"", ", in_place: false"}) {
    fabric->drops = false;
    WorkloadRunner runner("nccl_all_reduce", std::string("{message_size: 4000B, calls: 3") + more + "}");
    equip(runner.node(), fabric, 2);
    ASSERT_FALSE(runner.check());
    runner.prepare();
    runner.repeat();
    fabric->drops = true;
    EXPECT_THROW(runner->verify({}), RunError) << more;
  }
}

TEST_F(OneProcess, BuffersAreOfTheAllocatorThatIsAskedFor) {
  const auto memory = [&](const std::string& more) {
    WorkloadRunner runner("nccl_all_gather", "{message_size: 4000B, calls: 3" + more + "}");
    equip(runner.node(), fabric, 2);
    if (const auto skip = runner.check()) return skip->reason;
    try {
      runner.prepare();
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    for (const auto& [name, value] : runner.as<ReportsFacts>().facts())
      if (name == "memory") return value;
    return std::string();
  };
  EXPECT_EQ(memory(""), "by ncclMemAlloc");
  EXPECT_EQ(fabric->from_nccl, 2 * 4000u);
  EXPECT_EQ(memory(", allocator: cuda"), "by cudaMalloc");
  EXPECT_EQ(memory(", in_place: false, buffer_offset: 8B"), "by ncclMemAlloc; 8 bytes behind an aligned place");
  fabric->refuses_memory = "ncclMemAlloc of 0 MiB on gpu0: unhandled cuda error";
  EXPECT_EQ(memory(""), "by cudaMalloc: " + fabric->refuses_memory);
  for (const char* asked : {", allocator: nccl", ", symmetric: true"}) EXPECT_EQ(memory(asked), fabric->refuses_memory);
  fabric->no_memory = "NCCL 2.18.3 has no ncclMemAlloc: 2.19 has";
  EXPECT_EQ(memory(""), "by cudaMalloc: " + fabric->no_memory);
  for (const char* asked : {", allocator: nccl", ", symmetric: true"}) EXPECT_EQ(memory(asked), fabric->no_memory);
  EXPECT_NE(problems_of("nccl_all_reduce", "{buffer_offset: 2B}").find("whole elements"), std::string::npos);
  EXPECT_NE(problems_of("nccl_all_reduce", "{symmetric: true, allocator: cuda}").find("windows need"),
            std::string::npos);
  EXPECT_NE(problems_of("nccl_all_reduce", "{symmetric: true, registered: true}").find("symmetric"), std::string::npos);
}

TEST_F(OneProcess, UnevenPartsAreCountedByTheBusiestRank) {
  for (const double imbalance : {1.0, 1.6, 4.0}) {
    const auto more = fmt::format("message_size: 64KiB, calls: 3, imbalance: {}", imbalance);
    EXPECT_EQ(run("nccl_all_to_all_v", more), "");
    EXPECT_NEAR(metrics["busbw"] / metrics["algbw"], 0.75 * imbalance, 1e-3) << "three of four ranks send it its part";
    EXPECT_EQ(run("nccl_all_to_all_v", more + ", element: bf16, symmetric: true", 3), "");
  }
  EXPECT_EQ(run("nccl_all_to_all_v", "message_size: 64KiB, calls: 3, imbalance: 100"), "");
  EXPECT_NEAR(metrics["busbw"] / metrics["algbw"], 3, 1e-9) << "one rank gets all";
}

TEST_F(OneProcess, ASlowNetworkGivesItsFigureAndIsNotTakenForAHang) {
  // Four ranks over a network of 0.2 GB/s, and one that ends nothing in time.
  fabric->operation_s = 0.5;
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 64KiB, peer_timeout: 600ms"), "");
  EXPECT_NEAR(metrics["time_s"], 0.5, 1e-3);
  fabric->operation_s = 7;
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 64KiB"), "");
  EXPECT_NEAR(metrics["time_s"], 7, 1e-3);
  fabric->operation_s = 80;
  EXPECT_NE(run("nccl_all_reduce", "message_size: 64KiB").find("one operation took 80 s"), std::string::npos);
  fabric->operation_s = 100;
  EXPECT_NE(run("nccl_all_reduce", "message_size: 64KiB").find("did not end in time"), std::string::npos);
  EXPECT_NE(run("nccl_all_reduce", "message_size: 64MiB, join_timeout: 100s").find("one operation took 100 s"),
            std::string::npos);
}

TEST_F(OneProcess, IsSkippedWhereLessMemoryIsFreeThanItsBuffersNeed) {
  WorkloadRunner runner("nccl_all_reduce", "{message_size: 1MiB, calls: 3, in_place: false}");
  HostBackendSettings settings;
  settings.gpus.resize(3);
  settings.gpus[1].facts.memory = 8 << 20;
  settings.gpus[1].most_allocated = 2 << 20;  // others hold the rest
  equip(runner.node(), fabric, settings);
  ASSERT_FALSE(runner.check());
  try {
    runner.prepare();
    ADD_FAILURE();
  } catch (const Unsupported& e) {
    EXPECT_STREQ(e.what(), "gpu1 has 2.00 MiB of 8.00 MiB of memory free, and its buffers need 2.00 MiB");
  }
}

TEST_F(OneProcess, SkipsTypesThatTheLibraryHasNot) {
  fabric->no_f8e5m2 = "NCCL 2.20.5 has no numbers of 8 bits: 2.24 has";
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 4000B, element: f8e5m2"), fabric->no_f8e5m2);
}

TEST_F(OneProcess, ChoosesTheNumberOfOperations) {
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 8B"), "");
  EXPECT_GT(metrics["busbw"], 0);
}

TEST_F(OneProcess, TimesOperationsAfterAMeetingOfAllRanks) {
  WorkloadRunner runner("nccl_all_reduce", "{message_size: 4000B, calls: 3}");
  equip(runner.node(), fabric, 4);
  ASSERT_FALSE(runner.check());
  runner.prepare();
  const unsigned before = fabric->met;
  EXPECT_GT(before, 0u) << "the first one connects the ranks: not a timed one";
  runner.repeat();
  EXPECT_EQ(fabric->met, before + 1);
}

TEST_F(OneProcess, RoundsToWholeParts) {
  EXPECT_EQ(run("nccl_all_gather", "message_size: 400B, calls: 3", 3), "");
  EXPECT_NEAR(metrics["algbw"] * metrics["time_s"], 396, 1e-6);
}

TEST_F(OneProcess, ReportsWrongData) {
  fabric->corrupts = true;
  EXPECT_NE(run("nccl_all_reduce", "message_size: 4000B, calls: 3").find("wrong data: 1 of 1000 elements; element 0 "),
            std::string::npos);
}

TEST_F(OneProcess, SaysWhyItCannotRun) {
  EXPECT_NE(run("nccl_all_reduce", "message_size: 4000B", 1).find("one GPU moves nothing between GPUs"),
            std::string::npos);
  EXPECT_NE(run("nccl_all_gather", "message_size: 12B", 4).find("less than one element for each of 4 ranks"),
            std::string::npos);
  EXPECT_NE(problems_of("nccl_all_to_all", "{in_place: true}").find("cannot be"), std::string::npos);
  EXPECT_NE(problems_of("nccl_all_reduce", "{message_size: 6B}").find("message_size"), std::string::npos);
  WorkloadRunner bare("nccl_all_reduce", "{message_size: 4000B}");
  if (const auto skip = bare.check()) {
    EXPECT_TRUE(skip->reason.starts_with("nccl: ") || skip->reason.starts_with("cuda: ") ||
                skip->reason.find("GPU") != std::string::npos)
        << skip->reason;
  }
}

TEST_F(OneProcess, EveryOperationIsRightInGroups) {
  for (const auto& [workload, factor] : kFactorsOfFour) {
    EXPECT_EQ(run(workload, "message_size: 4000B, calls: 7, batch: 3, group_size: 2, group_stride: 2"), "") << workload;
    EXPECT_NEAR(metrics["algbw"] * metrics["time_s"], 4000, 1e-6) << workload;
    EXPECT_EQ(metrics.count("node_busbw"), 0u) << "nothing leaves the only node";
  }
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 4000B, group: inter_node"), "inter_node: all ranks are on one node");
}

TEST_F(OneProcess, ReportsTheLog) {
  fabric->log =
      "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "a:1:2 [0] NCCL INFO AllReduce: 4000 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..1}\n";
  WorkloadRunner runner("nccl_all_reduce", "{message_size: 4000B, calls: 3}");
  equip(runner.node(), fabric, 4);
  ASSERT_FALSE(runner.check());
  runner.prepare();
  std::map<std::string, std::string> facts;
  for (const auto& [name, value] : runner.as<ReportsFacts>().facts()) facts[name] = value;
  EXPECT_EQ(facts["transport"], "P2P");
  EXPECT_EQ(facts["algorithm"], "Ring");
  EXPECT_EQ(facts["protocol"], "LL128");
  EXPECT_EQ(facts["settings"], "NCCL_ALGO=Ring");
  EXPECT_EQ(facts["communicators"], "by the test");
  EXPECT_EQ(facts.count("buffers"), 0u);
  EXPECT_EQ(facts.count("decisions"), 0u);
  EXPECT_FALSE(fabric->listens) << "nothing may be timed while NCCL writes";
  EXPECT_EQ(runner.as<JoinsRanks>().group()->ranks, 4u);
}

TEST_F(OneProcess, RegistersBuffersAndRecordsGraphsWhereAskedTo) {
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 4000B, calls: 6, batch: 3"), "");
  EXPECT_EQ(fabric->registered + fabric->graphs, 0u);
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 4000B, calls: 6, batch: 3, graph: true, registered: true"), "");
  EXPECT_EQ(fabric->registered, 4u);
  EXPECT_GE(fabric->graphs, 3u) << "what is checked, what is timed, what is checked at the end";
  fabric->no_registration = "NCCL 2.18 registers no buffers: 2.19 does";
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 4000B, registered: true"), fabric->no_registration);
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 4000B, calls: 6, symmetric: true, in_place: false"), "");
  EXPECT_EQ(fabric->windows, 2 * 4u);
  EXPECT_EQ(fabric->registered, 4u);
  fabric->no_windows = "NCCL 2.26.2 has no symmetric windows: 2.27 has";
  EXPECT_EQ(run("nccl_all_reduce", "message_size: 4000B, symmetric: true"), fabric->no_windows);
}

TEST_F(OneProcess, ReportsThrottlingAndErrorsOfGpus) {
  WorkloadRunner runner("nccl_all_reduce", "{message_size: 4000B, calls: 3}");
  HostBackendSettings settings;
  settings.gpus.resize(2);
  HostGpuBackend& gpus = equip(runner.node(), fabric, settings);
  ASSERT_FALSE(runner.check());
  runner.prepare();
  runner.repeat();
  EXPECT_EQ(runner.as<UsesDevices>().disturbance(), "");
  gpus.settings(1).state.held_back = "thermal";
  runner.before_phase = [&](const std::string&) { gpus.settings(0).state.replays = 3; };
  runner.repeat();
  EXPECT_EQ(runner.as<UsesDevices>().disturbance(), "");
  const std::vector<std::string> notes = runner->notes();
  for (const char* reported : {"gpu0: the PCIe replay counter rose during the run", "gpu1 was held back: thermal"})
    EXPECT_TRUE(std::ranges::find(notes, reported) != notes.end()) << fmt::format("{}", fmt::join(notes, "; "));
}

/// What goes wrong, and on which rank; -1: nowhere.
struct Trouble {
  int leaves = -1;             // before its first repetition
  bool share_a_gpu = false;    // all ranks see the same one, and no other
  bool see_their_own = false;  // each rank sees one GPU, and no two the same
  int sees_one_of_two = -1, cannot_pin = -1, cannot_allocate = -1, sees_a_crash = -1, has_other_nccl = -1;
  bool corrupts = false;  // what the last rank of each group gets
};

/// What each rank threw, why it cannot run, or what disturbed it.
std::vector<std::string> run_ranks(unsigned ranks, const std::string& workload, const std::string& parameters,
                                   Trouble trouble = {}, unsigned ranks_per_host = 1) {
  const auto fabric = std::make_shared<NcclFabric>();
  fabric->corrupts = trouble.corrupts;
  std::vector<std::string> hosts, errors(ranks);
  for (unsigned r = 0; r < ranks; ++r) hosts.push_back(std::string(1, static_cast<char>('a' + r / ranks_per_host)));
  on_ranks(hosts, 5, [&](std::unique_ptr<Ranks> own) {
    const unsigned rank = own->rank();
    WorkloadRunner runner(workload, "{" + parameters + "}");
    runner.node().join(std::shared_ptr<Ranks>(std::move(own)));
    runner.node().set_team(runner.node().ranks().everyone());
    const auto is = [&](int which) { return static_cast<int>(rank) == which; };
    HostBackendSettings settings;
    const bool sees_one = trouble.share_a_gpu || trouble.see_their_own || is(trouble.sees_one_of_two);
    settings.gpus.resize(sees_one ? 1 : 2);
    if (trouble.see_their_own) settings.gpus[0].facts.uuid = "GPU-of-" + std::to_string(rank);
    if (is(trouble.cannot_pin)) settings.most_pinned = 1;
    if (is(trouble.sees_a_crash))
      for (HostGpuSettings& gpu : settings.gpus) gpu.state.xids = {31};
    if (is(trouble.cannot_allocate))
      for (HostGpuSettings& gpu : settings.gpus) gpu.facts.memory = 1;
    const HostGpuBackend& gpus = equip(runner.node(), fabric, settings);
    if (is(trouble.has_other_nccl))
      runner.node().backends().replace_nccl(std::make_unique<HostNcclBackend>(fabric, "2.27.5"));
    try {
      if (const auto skip = runner.check()) throw RunError(skip->reason);
      runner.prepare();
      if (is(trouble.leaves)) return;
      runner.repeat();
      errors[rank] = runner.as<UsesDevices>().disturbance();
      runner->verify({});
    } catch (const std::exception& e) {
      errors[rank] = e.what();
    }
    EXPECT_LE(gpus.touched().size(), 1u) << "a context on another rank's GPU: refused where they are exclusive";
    // Whatever failed, failed for all at the same exchange: the next one finds everybody who stayed.
    if (trouble.leaves < 0) {
      EXPECT_NO_THROW(runner.node().ranks().barrier("the end", 5)) << errors[rank];
    }
  });
  return errors;
}

TEST(NcclRanks, AProcessPerGpu) {
  for (const char* workload : {"nccl_all_reduce", "nccl_all_to_all"})
    for (const std::string& error : run_ranks(4, workload, "message_size: 4000B, calls: 5", {}, 2))
      EXPECT_EQ(error, "") << workload;
}

TEST(NcclRanks, InGroups) {
  for (const char* group :
       {"group: intra_node", "group: per_rail", "group: inter_node", "group_size: 2, group_stride: 2"})
    for (const std::string& error :
         run_ranks(4, "nccl_all_gather", std::string("message_size: 4000B, ") + group, {}, 2))
      EXPECT_EQ(error, "") << group;
}

TEST(NcclRanks, WantAGpuEach) {
  for (const std::string& error : run_ranks(3, "nccl_all_reduce", "message_size: 4000B", {}, 3))
    EXPECT_EQ(error, "3 ranks share 2 GPUs of a: NCCL wants a GPU for each");
}

TEST(NcclRanks, AllReportAMissingPartOfOne) {
  const std::string size = "message_size: 4000B, calls: 5";
  const auto pins = run_ranks(3, "nccl_all_reduce", size, {.cannot_pin = 1});
  EXPECT_EQ(pins[1], "pin 16 bytes: refused by the test");
  const auto memory = run_ranks(3, "nccl_all_reduce", size, {.cannot_allocate = 2});
  EXPECT_NE(memory[2].find("of memory free, and its buffers need"), std::string::npos) << memory[2];
  for (const unsigned other : {0u, 1u, 2u}) {
    EXPECT_EQ(pins[other], other == 1 ? pins[1] : "rank 1 (b): " + pins[1]);
    EXPECT_EQ(memory[other], other == 2 ? memory[2] : "rank 2 (c): " + memory[2]);
  }
}

TEST(NcclRanks, AllReportARankWithAnotherNccl) {
  for (const std::string& error :
       run_ranks(3, "nccl_all_reduce", "message_size: 4000B, calls: 5", {.has_other_nccl = 1}))
    EXPECT_EQ(error.find("rank 1 (b) has NCCL 2.27.5, rank 0 (a) has 0.0.0: they do not talk; load the same"), 0u)
        << error;
}

TEST(NcclRanks, AllHearOfAGpuThatAnotherProgramUsed) {
  for (const std::string& reported :
       run_ranks(3, "nccl_all_reduce", "message_size: 4000B, calls: 5", {.sees_a_crash = 1}))
    EXPECT_TRUE(reported.starts_with("rank 1 (b): gpu") && reported.ends_with("Xid 31 (an invalid access to memory)"))
        << reported;
}

TEST(NcclRanks, TakeTheGpusThatTheirLauncherGaveThem) {
  const std::string size = "message_size: 4000B, calls: 5";
  for (const Trouble& bound : {Trouble{.see_their_own = true}, Trouble{.sees_one_of_two = 3}})
    for (const std::string& error : run_ranks(4, "nccl_all_reduce", size, bound, 2)) EXPECT_EQ(error, "");
  for (const std::string& error : run_ranks(3, "nccl_all_reduce", size, {.share_a_gpu = true}, 2))
    EXPECT_EQ(error, "2 ranks share 1 GPUs of a: NCCL wants a GPU for each");
}

TEST(NcclRanks, AllReportTheRankWithWrongData) {
  const auto errors = run_ranks(3, "nccl_all_reduce", "message_size: 4000B, calls: 5", {.corrupts = true});
  EXPECT_NE(errors[2].find("rank 2 on c (gpu0): wrong data: 1 of 1000 elements; element 0 (byte 0 of the result) is "),
            std::string::npos)
      << errors[2];
  for (const unsigned other : {0u, 1u}) EXPECT_EQ(errors[other], "rank 2 (c): " + errors[2]);
}

TEST(NcclRanks, NameTheOneThatLeftAnotherGroup) {
  const auto errors = run_ranks(
      4, "nccl_all_reduce", "message_size: 4000B, calls: 5, peer_timeout: 200ms, group: per_rail", {.leaves = 3}, 2);
  for (const unsigned rank : {0u, 2u}) EXPECT_NE(errors[rank].find("rank "), std::string::npos) << errors[rank];
  EXPECT_NE(errors[0].find("rank 3 (b)"), std::string::npos) << errors[0];
}

TEST(NcclRanks, NameTheOneThatLeft) {
  const auto errors =
      run_ranks(3, "nccl_all_reduce", "message_size: 4000B, calls: 5, peer_timeout: 200ms", {.leaves = 2});
  EXPECT_NE(errors[0].find("rank 2 (c)"), std::string::npos) << errors[0];
  // Or the leader, which has given up by then.
  EXPECT_TRUE(errors[1].find("rank 2 (c)") != std::string::npos ||
              errors[1].find("rank 0 (a) has left") != std::string::npos)
      << errors[1];
}

}  // namespace
}  // namespace headrace::testing::nccl_workloads_test
