// What sound hardware gives: the table, the parts of a machine, and what was measured compared with both.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "harness/engine/explain/evidence.h"
#include "harness/judge/expectations/hold.h"
#include "harness/judge/statistics/summary.h"
#include "harness/workload/registry.h"
#include "harness/workload/workload.h"
#include "tests/unit/gpu_run.h"

namespace headrace::expectations::expectations_test {
namespace {

using judging::RecordedPoint;

Table table_of(const std::string& text, std::string* reported = nullptr) {
  Diagnostics problems;
  Table table = parse_table("schema: 1\n" + text, "own.yaml", problems);
  if (reported != nullptr)
    for (const Diagnostic& d : problems.errors()) *reported += to_string(d) + "\n";
  else
    EXPECT_TRUE(problems.empty()) << to_string(problems.errors().front());
  return table;
}

const Part* find(const std::vector<Part>& parts, std::string_view kind, std::string_view name) {
  const auto at =
      std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.kind == kind && p.name == name; });
  return at == parts.end() ? nullptr : &*at;
}

/// Parameters that a workload reads.
std::vector<std::string> params_of(const WorkloadInfo& info) {
  config::Value defaults;
  defaults.kind = config::Value::Kind::map;
  Diagnostics problems;
  Params params(std::string(info.name), defaults, problems);
  const auto workload = info.make(params);
  std::vector<std::string> names;
  for (const ParamInfo& p : params.declared()) names.push_back(p.name);
  return names;
}

TEST(CarriedTable, AsksOfWorkloadsWhatTheyHave) {
  const Table table = load_table();
  ASSERT_GT(table.rates.size(), 30u);
  ASSERT_GT(table.figures.size(), 15u);
  for (const RateEntry& e : table.rates) EXPECT_FALSE(e.source.empty()) << e.name;
  for (const FigureEntry& e : table.figures) {
    EXPECT_GT(e.source.size(), 20u) << e.workload;
    const WorkloadInfo* info = Registry::instance().find(e.workload);
    ASSERT_NE(info, nullptr) << e.workload;
    EXPECT_TRUE(std::any_of(info->metrics.begin(), info->metrics.end(),
                            [&](const Metric& m) { return m.name == e.metric && m.unit == "B/s"; }))
        << e.workload << "." << e.metric;
    const std::vector<std::string> known = params_of(*info);
    const auto has = [&](const std::string& name) { return std::count(known.begin(), known.end(), name) == 1; };
    for (const auto& [name, words] : e.with) EXPECT_TRUE(has(name)) << e.workload << ": " << name;
    for (const auto& [name, least] : e.at_least) EXPECT_TRUE(has(name)) << e.workload << ": " << name;
  }
}

TEST(Tables, SayWhatIsWrongWithThem) {
  std::string reported;
  table_of(
      "rates:\n  - {part: dsk, name: vda, rate: 1GB/s, source: s}\n  - {part: disk, name: vda, source: s}\n"
      "  - {part: disk, name: vda, rate: 5, source: s}\n"
      "figures:\n  - {figure: h2d, part: gpu_link, usual: [0.9, 0.8], least: 0.95, source: s, wit: {}}\n"
      "  - {figure: h2d.bandwidth, part: gpu_link, usual: 0.9, least: 0.5}\n",
      &reported);
  for (const char* word : {"own.yaml:3:12: rates: part: 'dsk' is not one of", "did you mean 'disk'?",
                           "own.yaml:4:5: rates: rate: either a rate or", "own.yaml:5:35", "needs a unit",
                           "a workload and its metric are expected", "the first share is above the second",
                           "least: is above the usual range", "unknown key 'wit'; did you mean 'with'?",
                           "two shares are expected", "source: missing"})
    EXPECT_NE(reported.find(word), std::string::npos) << word << " in\n" << reported;
}

// Points as they are recorded.

RecordedPoint point(const std::string& workload, const std::string& metric, const std::vector<double>& values,
                    std::map<std::string, ParamValue> params = {}) {
  RecordedPoint p;
  p.id = p.workload = workload;
  p.params = std::move(params);
  p.status = PointStatus::ok;
  p.looks = statistics::plan_looks({static_cast<unsigned>(values.size())});
  for (const double value : values) {
    judging::RecordedRepetition r;
    r.ok = true;
    r.elapsed_s = 1;
    r.metrics[metric] = value;
    p.repetitions.push_back(r);
  }
  return p;
}

Part disk(double rate) {
  return {.kind = "disk", .name = "nvme0n1", .link = "PCIe", .rate = rate, .how = "PCIe gen 4 x4"};
}

const std::map<std::string, ParamValue> kInOrder{
    {"direct", true}, {"block_size", std::uint64_t{1} << 20}, {"rate", 0.0}};

RecordedPoint stream(const std::vector<double>& values) {
  RecordedPoint p = point("shard_stream", "read_bandwidth", values, kInOrder);
  p.cache = CacheState::bypassed;
  return p;
}

Expected only(const std::vector<Part>& parts, const RecordedPoint& p, const Table& table = load_table()) {
  const auto all = hold(parts, table, std::span(&p, 1));
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? Expected{} : all.front();
}

TEST(Hold, FarBelowIsWhatTheBoundsDecide) {
  const std::vector<Part> parts{disk(7.88e9)};
  const Expected slow = only(parts, stream({1.0e9, 1.01e9, 0.99e9, 1.0e9, 1.02e9, 1.0e9}));
  EXPECT_EQ(slow.standing, Standing::far_below);
  EXPECT_NEAR(*slow.share(), 0.127, 0.01);
  EXPECT_NE(sentence(slow).find("13 % of 7.88 GB/s (nvme0n1: PCIe gen 4 x4); usual is 75 to 95 %: far below"),
            std::string::npos)
      << sentence(slow);
  EXPECT_EQ(only(parts, stream({6.8e9, 6.7e9, 6.8e9, 6.9e9, 6.8e9, 6.8e9})).standing, Standing::usual);
  EXPECT_EQ(only(parts, stream({5e9, 5e9, 5.1e9, 5e9, 4.9e9, 5e9})).standing, Standing::below);
  EXPECT_EQ(only(parts, stream({9e9, 9e9, 9.1e9, 9e9, 8.9e9, 9e9})).standing, Standing::above);
}

TEST(Hold, WhatIsLeftOpenIsNoFinding) {
  const std::vector<Part> parts{disk(7.88e9)};
  // The median lies below, the bounds do not.
  EXPECT_EQ(only(parts, stream({2.0e9, 0.5e9, 5.9e9, 2.0e9, 4.0e9, 0.6e9})).standing, Standing::perhaps);
  // One value has no bounds.
  const Expected once = only(parts, stream({1e9}));
  EXPECT_EQ(once.standing, Standing::perhaps);
  EXPECT_EQ(once.reason, Reason::few_reps);
  // Somebody else was at the disk.
  RecordedPoint disturbed = stream({1.0e9, 1.01e9, 0.99e9, 1.0e9, 1.02e9, 1.0e9});
  for (auto& r : disturbed.repetitions) r.disturbed = true, r.disturbed_why = "another process read";
  const Expected beside = only(parts, disturbed);
  EXPECT_EQ(beside.standing, Standing::perhaps);
  EXPECT_EQ(beside.reason, Reason::disturbed);
  EXPECT_NE(sentence(beside).find("the repetitions do not decide it"), std::string::npos);
}

TEST(Hold, AsksOnlyOfWhatWasMeasuredAsTheTableSays) {
  const std::vector<Part> parts{disk(7.88e9)};
  const auto held = [&](RecordedPoint p) { return hold(parts, load_table(), std::span(&p, 1)).size(); };
  RecordedPoint p = stream({1e9, 1e9, 1e9, 1e9, 1e9, 1e9});
  EXPECT_EQ(held(p), 1u);
  p.params["block_size"] = std::uint64_t{4096};
  EXPECT_EQ(held(p), 0u);
  p = stream({1e9, 1e9, 1e9});
  p.params["rate"] = 500.0;  // that many are due, and no more
  EXPECT_EQ(held(p), 0u);
  p = stream({1e9, 1e9, 1e9});
  p.cache = CacheState::warm;
  EXPECT_EQ(held(p), 0u);
  p = stream({1e9, 1e9, 1e9});
  p.status = PointStatus::error;
  EXPECT_EQ(held(p), 0u);
}

TEST(Hold, AnUnknownKindIsSaidToBeUnknown) {
  Part unknown{.kind = "disk", .name = "vda", .how = "a disk behind virtio does not tell what it can carry"};
  const Expected e = only({unknown}, stream({1e9, 1e9, 1e9, 1e9, 1e9, 1e9}));
  EXPECT_EQ(e.standing, Standing::not_known);
  EXPECT_FALSE(e.share());
  EXPECT_EQ(sentence(e), "no reference value (vda: a disk behind virtio does not tell what it can carry)");
  // A table of one's own knows it.
  std::vector<Part> parts{unknown};
  const Table own = table_of("rates:\n  - {part: disk, name: 'vd?', rate: 2GB/s, source: what we bought}\n");
  apply_rates(parts, own);
  EXPECT_EQ(parts[0].rate, 2e9);
  EXPECT_EQ(only(parts, stream({1e9, 1e9, 1e9, 1e9, 1e9, 1e9})).standing, Standing::far_below);
  EXPECT_EQ(only(parts, stream({1.9e9, 1.9e9, 1.9e9, 1.9e9, 1.9e9, 1.9e9})).standing, Standing::usual);
}

TEST(Hold, PortsOfSeveralRatesAreDistinguishedOrNotAtAll) {
  std::vector<Part> parts{{.kind = "rdma_port", .name = "mlx5_0/1", .rate = 50e9, .how = "InfiniBand at 400 Gbit/s"},
                          {.kind = "rdma_port", .name = "mlx5_1/1", .rate = 50e9, .how = "InfiniBand at 400 Gbit/s"},
                          {.kind = "rdma_port", .name = "mlx5_2/1", .rate = 12.5e9, .how = "RoCE at 100 Gbit/s"}};
  const std::map<std::string, ParamValue> params{{"measure", std::string("bandwidth")},
                                                 {"direction", std::string("one_way")},
                                                 {"message_size", std::uint64_t{65536}},
                                                 {"device", std::string()}};
  RecordedPoint p = point("rdma_write", "nic_bandwidth", {20e9, 20e9, 20e9, 20e9, 20e9, 20e9}, params);
  EXPECT_EQ(only(parts, p).standing, Standing::not_known);
  p.params["device"] = std::string("mlx5_2");
  EXPECT_EQ(only(parts, p).standing, Standing::above);
  p.params["device"] = std::string();
  parts.pop_back();
  const Expected e = only(parts, p);
  EXPECT_EQ(e.standing, Standing::far_below);
  EXPECT_NE(sentence(e).find("40 % of 400 Gbit/s"), std::string::npos) << sentence(e);
}

struct GpuExpectations : testing::GpuRun {
  std::vector<Expected> held(const std::string& entry) {
    const PointResult p = run_one(entry);
    const auto parts = parts_of(node, folder.path(), load_table(), folder / "no-such-root");
    const RecordedPoint recorded = engine::recorded(p);
    return hold(parts, load_table(), std::span(&recorded, 1));
  }
};

TEST_F(GpuExpectations, EachGpuIsHeldAgainstItsOwnLink) {
  settings.gpus.resize(2, testing::HostGpuSettings{});
  settings.gpus[0].h2d = 55e9;
  settings.gpus[1].h2d = 20e9;
  const auto all = held("use: h2d, size: 16MiB, copies: 4");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].metric, "bandwidth_gpu0");
  EXPECT_EQ(all[0].standing, Standing::usual);
  EXPECT_EQ(sentence(all[0]), "87 % of 63.0 GB/s (gpu0: PCIe gen 5 x16); usual is 80 to 90 %");
  EXPECT_LT(*all[1].share(), 0.35);
  EXPECT_TRUE(all[1].standing == Standing::far_below || all[1].reason == Reason::few_reps) << sentence(all[1]);
}

TEST_F(GpuExpectations, MemoryByNameAndSlicesNotAtAll) {
  settings.gpus[0].facts.name = "NVIDIA H100 80GB HBM3";
  settings.gpus[0].d2d = 1.25e12;
  auto all = held("use: d2d, size: 64MiB, copies: 4");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].part.rate, 3.35e12);
  EXPECT_EQ(all[0].standing, Standing::usual) << sentence(all[0]);
  settings.gpus[0].facts.slice = true;
  all = held("use: d2d, size: 64MiB, copies: 4");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].standing, Standing::not_known);
}

TEST_F(GpuExpectations, PairsByTheNvLinksBetweenThem) {
  settings.gpus.resize(3, testing::HostGpuSettings{});
  for (unsigned i = 0; i < 3; ++i) settings.gpus[i].facts.pci_address = "0000:0" + std::to_string(i) + ":00.0";
  settings.gpus[0].facts.nvlinks = {.count = 4, .generation = 3, .each = 25e9, .ends = {}};
  settings.gpus[0].facts.nvlinks.ends = {"0000:01:00.0", "0000:01:00.0", "0000:01:00.0", "0000:01:00.0"};
  settings.gpus[1].facts.nvlinks = settings.gpus[0].facts.nvlinks;
  settings.gpus[1].facts.nvlinks.ends.assign(4, "0000:00:00.0");
  settings.gpus[0].peer = 90e9;
  const auto all = held("use: p2p, size: 16MiB, copies: 4");
  const auto of = [&](const std::string& metric) {
    return *std::find_if(all.begin(), all.end(), [&](const Expected& e) { return e.metric == metric; });
  };
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(of("bandwidth_gpu0_gpu1").part.rate, 100e9);
  EXPECT_EQ(of("bandwidth_gpu0_gpu1").standing, Standing::usual);
  EXPECT_EQ(of("bandwidth_gpu0_gpu2").standing, Standing::not_known);
}

// The kernel's files, laid by the test.

struct LaidMachine : ::testing::Test {
  testing::TemporaryFolder root;
  Node node{root / "scratch"};
  std::vector<Part> parts(const Table& table = load_table()) { return parts_of(node, root.path(), table, root.path()); }
  void link(const std::string& from, const std::string& to) {
    std::filesystem::create_directories(std::filesystem::path(root / from).parent_path());
    std::filesystem::create_directory_symlink(root / to, root / from);
  }
};

TEST_F(LaidMachine, DisksByTheirInterface) {
  const std::string nvme = "sys/devices/pci0000:00/0000:01:00.0/";
  root.write(nvme + "max_link_speed", "16.0 GT/s PCIe\n");
  root.write(nvme + "current_link_speed", "16.0 GT/s PCIe\n");
  root.write(nvme + "max_link_width", "4\n");
  root.write(nvme + "current_link_width", "4\n");
  root.write(nvme + "nvme/nvme0/model", "SAMSUNG MZQL23T8HCLS-00A07\n");
  link(nvme + "nvme/nvme0/device", nvme);
  root.write(nvme + "nvme/nvme0/nvme0n1/queue/rotational", "0\n");
  link(nvme + "nvme/nvme0/nvme0n1/device", nvme + "nvme/nvme0");
  link("sys/block/nvme0n1", nvme + "nvme/nvme0/nvme0n1");
  const std::string sata = "sys/devices/pci0000:00/0000:02:00.0/ata7/host6/";
  root.write("sys/class/ata_link/link7/sata_spd", "6.0 Gbps\n");
  root.write(sata + "block/sda/queue/rotational", "0\n");
  link("sys/block/sda", sata + "block/sda");
  root.write(sata + "block/sdb/queue/rotational", "1\n");
  link(sata + "block/sdb/device/subsystem", "sys/bus/scsi");
  link("sys/block/sdb", sata + "block/sdb");
  std::filesystem::create_directories(root / "sys/bus/scsi");
  root.write("sys/devices/virtual/block/md0/md/level", "raid0\n");
  std::filesystem::create_directories(root / "sys/devices/virtual/block/md0/slaves/nvme0n1");
  link("sys/block/md0", "sys/devices/virtual/block/md0");

  const auto all = parts();
  ASSERT_NE(find(all, "disk", "nvme0n1"), nullptr);
  EXPECT_NEAR(find(all, "disk", "nvme0n1")->rate, 7.877e9, 1e6);
  EXPECT_EQ(find(all, "disk", "nvme0n1")->how, "PCIe gen 4 x4");
  EXPECT_EQ(find(all, "disk", "sda")->rate, 600e6);
  EXPECT_EQ(find(all, "disk", "sda")->how, "SATA at 6 Gbit/s");
  EXPECT_EQ(find(all, "disk", "sdb")->rate, 285e6);
  EXPECT_EQ(find(all, "disk", "sdb")->link, "rotating");
  EXPECT_EQ(find(all, "disk", "md0")->rate, 0);
  EXPECT_EQ(find(all, "disk", "md0")->how, "the total rate of nvme0n1 is not reported");
  // A table of one's own is above the interface.
  const Table own = table_of("rates:\n  - {part: disk, name: 'SAMSUNG MZQL2*', rate: 6.8GB/s, source: data sheet}\n");
  EXPECT_EQ(find(parts(own), "disk", "nvme0n1")->rate, 6.8e9);
  EXPECT_EQ(find(parts(own), "disk", "nvme0n1")->link, "table");
}

TEST_F(LaidMachine, MemoryByTheProcessorAndTheSockets) {
  root.write("proc/cpuinfo", "model name\t: AMD EPYC 9654 96-Core Processor\nflags\t\t: fpu avx2\n");
  root.write("sys/devices/system/cpu/online", "0-1\n");
  root.write("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
  root.write("sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
  EXPECT_EQ(find(parts(), "memory", "memory")->rate, 2 * 460.8e9);
  root.write("proc/cpuinfo", "model name\t: AMD EPYC 9654 96-Core Processor\nflags\t\t: fpu hypervisor\n");
  EXPECT_EQ(find(parts(), "memory", "memory")->rate, 0);
  EXPECT_EQ(find(parts(), "memory", "memory")->how, "a virtual machine has a share of its host's memory");
  root.write("proc/cpuinfo", "model name\t: VIA Nano\nflags\t\t: fpu\n");
  EXPECT_EQ(find(parts(), "memory", "memory")->rate, 0);
}

}  // namespace
}  // namespace headrace::expectations::expectations_test
