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
#include "tests/unit/made_up_ports.h"

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

TEST(CarriedTable, NamesExistingMetricsOfWorkloads) {
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

TEST(Tables, ReportTheirErrors) {
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

TEST(Tables, RejectUnusableTablesAlone) {
  const std::string rate = "rates:\n  - {part: disk, name: vda, source: s, ";
  const std::string figure = "figures:\n  - {figure: shard_stream.read_bandwidth, source: s, ";
  const std::string disk = figure + "part: disk, ", sound = disk + "usual: [0.7, 0.9], least: 0.5, ";
  for (const auto& [entry, words] :
       {std::pair(rate + "rate: 1B/s}", ""),
        {rate + "rate: 0.5B/s}", "rates: rate: "},
        {rate + "unknown: a volume gives its bought rate}", ""},
        {disk + "usual: [0.7, 2], least: 0}", ""},
        {disk + "usual: [0.7, 2.1], least: 0}", "figures: usual: "},
        {disk + "usual: [2.1, 2], least: 0}", "figures: usual: "},
        {disk + "usual: [0.7, 2], least: 2.1}", "figures: least: "},
        {disk + "usual: [x, 0.9], least: 0.5}", "figures: usual: "},
        {disk + "usual: [0.7, x], least: 0.5}", "figures: usual: "},
        {disk + "usual: [0.7], least: 0.5}", "two shares are expected"},
        {disk + "usual: {low: 0.7, high: 0.9}, least: 0.5}", "two shares are expected"},
        {disk + "least: 0.5}", "two shares are expected"},
        {disk + "usual: [0.7, 0.9]}", "figures: least: missing"},
        {figure + "usual: [0.7, 0.9], least: 0.5}", "figures: part: missing"},
        {std::string("figures:\n  - {part: disk, source: s, usual: [0.7, 0.9], least: 0.5}"), "figure: missing"},
        {sound + "nodes: 1000000}", ""},
        {sound + "nodes: 1000001}", "figures: nodes: "},
        {sound + "most_rate: 1B/s}", ""},
        {sound + "most_rate: 0.5B/s}", "figures: most_rate: "},
        {sound + "at_least: {block_size: 0B}}", ""},
        {sound + "cache: {}}", "a word, or a list of words, is expected"},
        {sound + "cache: [[warm]]}", "cache: a word is expected"}}) {
    std::string reported;
    table_of(entry + "\n", &reported);
    EXPECT_NE(reported.find(words), std::string::npos) << entry << "\n" << reported;
    EXPECT_EQ(std::count(reported.begin(), reported.end(), '\n'), *words == '\0' ? 0 : 1) << entry << "\n" << reported;
  }
  for (const char* text : {"- a list", "schema: 2", "rates: []"}) {
    Diagnostics problems;
    parse_table(text, "own.yaml", problems);
    EXPECT_EQ(problems.errors().size(), 1u) << text;
  }
}

TEST(Tables, ThoseOfUsersComeFirst) {
  const testing::TemporaryFolder folder;
  folder.write("own.yaml", "schema: 1\nrates:\n  - {part: disk, name: vda, unknown: a volume, source: s}\n");
  const Table table = load_table(folder / "own.yaml");
  EXPECT_EQ(table.rates.front().name, "vda");
  EXPECT_EQ(table.rates.front().rate, 0);
  EXPECT_EQ(table.rates.size(), load_table().rates.size() + 1);
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

TEST(Hold, FarBelowIsDecidedByBounds) {
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
  const Expected full = only(parts, stream({7.9e9, 7.9e9, 7.9e9, 7.9e9, 7.9e9, 7.9e9}));
  EXPECT_EQ(full.standing, Standing::usual) << "more than usual, and no more than it can carry";
  EXPECT_EQ(full.why + slow.why, "");
  const Table table = table_of(
      "figures:\n  - {figure: shard_stream.read_bandwidth, part: disk, usual: [0.8, 1.5], least: 0.5, source: s}\n");
  EXPECT_EQ(only(parts, stream({1.4 * 7.88e9, 1.4 * 7.88e9, 1.4 * 7.88e9}), table).standing, Standing::usual)
      << "where that is usual";
}

TEST(Rates, AreOfPartsOfTheirKind) {
  std::vector<Part> parts{{.kind = "gpu_link", .name = "gpu0", .link = "PCIe", .rate = 63e9},
                          {.kind = "gpu_pair", .name = "gpu0_gpu1", .model = "NVLink 3", .units = 4},
                          {.kind = "disk", .name = "vda", .link = "PCIe", .rate = 8e9}};
  apply_rates(parts,
              table_of("rates:\n  - {part: disk, name: '*', unknown: a volume gives its bought rate, source: s}\n"
                       "  - {part: nvlink, name: NVLink 3, rate: 20GB/s, source: s}\n"
                       "  - {part: nvlink, name: gpu0, rate: 10GB/s, source: s}\n"
                       "  - {part: gpu_link, name: gpu0, rate: 50GB/s, source: s}\n"));
  EXPECT_EQ(parts[0].rate, 50e9);
  EXPECT_EQ(parts[0].link, "PCIe");
  EXPECT_EQ(parts[1].rate, 80e9);
  EXPECT_EQ(parts[1].how, "4 x NVLink 3");
  EXPECT_EQ(parts[2].rate, 0);
  EXPECT_EQ(parts[2].how, "a volume gives its bought rate");
}

TEST(Hold, OnlyRepetitionsThatCountAreCompared) {
  RecordedPoint p = stream({1e9, 1e9});
  for (auto& r : p.repetitions) r.ok = false;
  EXPECT_EQ(only({disk(7.88e9)}, p).standing, Standing::not_known) << "none went through";
  for (auto& r : p.repetitions) r.counted = false;
  EXPECT_TRUE(hold(std::vector<Part>{disk(7.88e9)}, load_table(), std::span(&p, 1)).empty());
}

TEST(Hold, AnOpenOneIsNoFinding) {
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
  RecordedPoint unproven = stream({1.0e9, 1.01e9, 0.99e9, 1.0e9, 1.02e9, 1.0e9});
  for (auto& r : unproven.repetitions) r.is_evidence = false;
  const Expected cached = only(parts, unproven);
  EXPECT_EQ(cached.standing, Standing::not_known);
  EXPECT_EQ(cached.reason, Reason::cache_unproven);
  EXPECT_NE(sentence(cached).find("nothing is concluded, as it may have come from memory"), std::string::npos);
}

TEST(Hold, NeedsOnlyTheMeasurementsOfTheTable) {
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

TEST(Hold, AnEntryIsOfThePointsAndPartsThatItNames) {
  for (const auto& [entry, held] : {std::pair("cache: warm", false),
                                    {"cache: [warm, bypassed]", true},
                                    {"nodes: 1", true},
                                    {"nodes: 2", false},
                                    {"with: {direct: 'true'}", true},
                                    {"with: {direct: 'false'}", false},
                                    {"with: {other: x}", true},
                                    {"at_least: {block_size: 1MiB}", true},
                                    {"at_least: {block_size: 2MiB}", false},
                                    {"at_least: {rate: 1}", false},
                                    {"at_least: {direct: 1}", true},
                                    {"at_least: {other: 1}", true},
                                    {"link: PCIe", true},
                                    {"link: SATA", false},
                                    {"most_rate: 8GB/s", true},
                                    {"most_rate: 7GB/s", false}}) {
    const Table table = table_of(std::string("figures:\n  - {figure: shard_stream.read_bandwidth, part: disk, ") +
                                 entry + ", usual: [0.75, 0.95], least: 0.5, source: s}\n");
    const std::vector<Part> parts{disk(7.88e9)};
    RecordedPoint p = stream({6e9, 6e9, 6e9, 6e9, 6e9, 6e9});
    p.status = PointStatus::interrupted;
    EXPECT_EQ(hold(parts, table, std::span(&p, 1)).size(), held ? 1u : 0u) << entry;
    EXPECT_EQ(prospects(parts, table).size(),
              held || (!std::string(entry).starts_with("link") && !std::string(entry).starts_with("most")) ? 1u : 0u)
        << entry;
  }
  const Table of_pcie = table_of(
      "figures:\n  - {figure: shard_stream.read_bandwidth, part: disk, link: PCIe, usual: [0.7, 0.9], least: 0.5, "
      "source: s}\n  - {figure: p2p.bandwidth, part: gpu_pair, usual: [0.7, 0.9], least: 0.5, source: s}\n");
  const auto held_of = [&](Part part, const RecordedPoint& p) {
    return hold(std::vector<Part>{std::move(part)}, of_pcie, std::span(&p, 1)).size();
  };
  const RecordedPoint p = stream({6e9, 6e9});
  EXPECT_EQ(held_of({.kind = "disk", .name = "vda"}, p), 1u) << "nothing about it is known";
  EXPECT_EQ(held_of({.kind = "disk", .name = "sda", .link = "SATA"}, p), 0u) << "its link is known";
  EXPECT_EQ(held_of({.kind = "disk", .name = "vda", .rate = 2e9}, p), 0u) << "its rate is known";
  const Part pair{.kind = "gpu_pair", .name = "gpu0_gpu1", .rate = 1e11};
  EXPECT_EQ(held_of(pair, point("p2p", "bandwidth", {9e10, 9e10})), 0u) << "which pair it was, is not known";
  EXPECT_EQ(held_of(pair, point("p2p", "bandwidth_gpu0_gpu1", {9e10, 9e10})), 1u);
  const std::vector<Part> several{disk(7.88e9), disk(2e9), disk(3e9)};
  const Expected slowest = only(several, stream({1.9e9, 1.9e9, 1.9e9, 1.9e9, 1.9e9, 1.9e9}));
  EXPECT_EQ(slowest.part.rate, 2e9) << "of several that work together";
  EXPECT_EQ(slowest.standing, Standing::usual);
  Part named = disk(2e9);
  named.how = named.name;
  EXPECT_EQ(sentence(only({named}, stream({0.1e9, 0.1e9, 0.1e9, 0.1e9, 0.1e9, 0.1e9}))).substr(0, 28),
            "5.0 % of 2.00 GB/s (nvme0n1)");
  EXPECT_FALSE(Expected{.part = disk(1)}.share());
  EXPECT_EQ(sentence({.part = disk(1), .usual_low = 0.8, .usual_high = 0.9}),
            "nvme0n1: PCIe gen 4 x4; usual is 80 to 90 %");
  EXPECT_TRUE(prospects(std::vector<Part>{disk(0)}, load_table()).empty());
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
  std::vector<Part> parts{{.kind = "ethernet_port", .name = "eth0", .rate = 1e9},
                          {.kind = "rdma_port", .name = "mlx5_0/1", .rate = 50e9, .how = "InfiniBand at 400 Gbit/s"},
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
  p.params["device"] = std::string("mlx5");
  EXPECT_TRUE(hold(parts, load_table(), std::span(&p, 1)).empty()) << "no device of that name";
  p.params["device"] = std::string("mlx5_2/1");
  EXPECT_EQ(only(parts, p).part.name, "mlx5_2/1");
  parts.back().up = false;
  EXPECT_TRUE(hold(parts, load_table(), std::span(&p, 1)).empty()) << "it is down";
  p.params["device"] = std::string();
  EXPECT_EQ(only(parts, p).part.name, "mlx5_0/1") << "all that are up are alike";
  parts.pop_back();
  const Expected e = only(parts, p);
  EXPECT_EQ(e.standing, Standing::far_below);
  EXPECT_NE(sentence(e).find("40 % of 400 Gbit/s"), std::string::npos) << sentence(e);
}

TEST(Hold, AnInterfaceWithoutACardIsNoPortThatCarriesData) {
  std::vector<Part> parts{{.kind = "ethernet_port", .name = "veth0", .how = "no card behind it"},
                          {.kind = "rdma_port", .name = "mlx5_0/1", .rate = 50e9},
                          {.kind = "ethernet_port", .name = "eth0", .rate = 12.5e9, .how = "Ethernet at 100 Gbit/s"}};
  RecordedPoint p = point("tcp_stream", "nic_bandwidth", {6e9, 6.01e9, 5.99e9, 6e9, 6.02e9, 6e9});
  const Table table = table_of(
      "figures:\n  - {figure: tcp_stream.nic_bandwidth, part: ethernet_port, usual: [0.7, 0.9], least: 0.6, source: "
      "s}\n");
  const Expected one = only(parts, p, table);
  EXPECT_EQ(one.part.name, "eth0");
  EXPECT_EQ(one.standing, Standing::far_below);
  EXPECT_EQ(sentence(one).find("48 % of 100 Gbit/s (eth0: Ethernet at 100 Gbit/s)"), 0u) << sentence(one);
  p.params["interface"] = std::string("veth0");
  EXPECT_EQ(sentence(only(parts, p, table)), "no reference value (veth0: no card behind it)") << "the job names it";
  p.params.clear();
  parts.push_back({.kind = "ethernet_port", .name = "eth1", .how = "its rate is not reported, as with virtual cards"});
  EXPECT_EQ(only(parts, p, table).part.name, "Ethernet ports") << "which of the two carried it, is not known";
  EXPECT_EQ(only(parts, p, table).standing, Standing::not_known);
}

struct GpuExpectations : testing::GpuRun {
  /// The first of that kind.
  Part part(const std::string& kind) {
    node.backends().replace_gpu(std::make_unique<testing::HostGpuBackend>(settings));
    for (const Part& one : parts_of(node, folder.path(), load_table(), folder / "no-such-root"))
      if (one.kind == kind) return one;
    return {};
  }
  std::vector<Expected> held(const std::string& entry) {
    const PointResult p = run_one(entry);
    const auto parts = parts_of(node, folder.path(), load_table(), folder / "no-such-root");
    const RecordedPoint recorded = engine::recorded(p);
    return hold(parts, load_table(), std::span(&recorded, 1));
  }
};

TEST_F(GpuExpectations, EachGpuIsComparedWithItsOwnLink) {
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
  EXPECT_EQ(part("gpu_link").how, "a MIG slice shares its GPU's link with the other slices");
  all = held("use: d2d, size: 64MiB, copies: 4");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].standing, Standing::not_known);
}

TEST_F(GpuExpectations, LinksToTheHostAsTheDriverReportsThem) {
  GpuFacts& facts = settings.gpus[0].facts;
  for (const auto& [generation, width, how] : {std::tuple(3u, 1u, "PCIe gen 3 x1"),
                                               {5u, 16u, "PCIe gen 5 x16"},
                                               {5u, 0u, "the driver does not report its link"},
                                               {0u, 16u, "the driver does not report its link"}}) {
    facts.link_max = {.generation = generation, .width = width};
    EXPECT_EQ(part("gpu_link").how, how);
    EXPECT_EQ(part("gpu_link").rate > 0, std::string(how).starts_with("PCIe"));
  }
  facts.coherent = true;
  EXPECT_EQ(part("gpu_link").link, "C2C");
  EXPECT_EQ(part("gpu_link").how, "it shares the host's memory by NVLink-C2C, whose rate the driver does not report");
  facts.c2c = {.count = 10, .most = 10, .rate = 450e9};
  EXPECT_EQ(part("gpu_link").how, "NVLink-C2C, 10 links");
  EXPECT_EQ(part("gpu_link").rate, 450e9);
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
  EXPECT_EQ(part("nvlink").how, "4 x NVLink 3");
  EXPECT_EQ(part("nvlink").rate, 100e9);
  settings.gpus[0].facts.nvlinks =
      settings.gpus[1].facts.nvlinks = {.count = 4, .generation = 9, .each = 0, .to_switch = true, .ends = {}};
  settings.gpus[1].facts.nvlinks.count = 3;
  EXPECT_EQ(part("nvlink").how, "4 NVLinks of a generation that no table has");
  EXPECT_EQ(part("gpu_pair").units, 3) << "as many as the one with fewer has";
  settings.gpus[1].facts.nvlinks.to_switch = false;
  EXPECT_NE(part("gpu_pair").how.find("no NVLink between the two"), std::string::npos)
      << "the other is not at a switch";
  settings.gpus[0].facts.nvlinks = {.count = 1, .generation = 3, .each = 25e9, .ends = {"0000:01:00.0"}};
  EXPECT_EQ(part("gpu_pair").how, "NVLink 3");
  EXPECT_EQ(part("nvlink").rate, 25e9);
  settings.gpus[0].facts.nvlinks.ends = {""};
  settings.gpus[1].facts.pci_address = "";
  EXPECT_NE(part("gpu_pair").how.find("no NVLink between the two"), std::string::npos) << "no address is reported";
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

  root.write("sys/devices/sas/block/sdc/queue/rotational", "0\n");
  link("sys/devices/sas/block/sdc/device/subsystem", "sys/bus/scsi");
  link("sys/block/sdc", "sys/devices/sas/block/sdc");
  root.write("sys/devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1/queue/rotational", "0\n");
  link("sys/block/nvme1n1", "sys/devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1");

  const auto all = parts();
  ASSERT_NE(find(all, "disk", "nvme0n1"), nullptr);
  EXPECT_EQ(find(all, "disk", "sdc")->how, "a disk behind scsi does not report its rate") << "and does not rotate";
  EXPECT_EQ(find(all, "disk", "nvme1n1")->how, "a disk behind nvme does not report its rate") << "over fabrics";
  EXPECT_NEAR(find(all, "disk", "nvme0n1")->rate, 7.877e9, 1e6);
  EXPECT_EQ(find(all, "disk", "nvme0n1")->how, "PCIe gen 4 x4");
  EXPECT_EQ(find(all, "disk", "sda")->rate, 600e6);
  EXPECT_EQ(find(all, "disk", "sda")->how, "SATA at 6 Gbit/s");
  EXPECT_EQ(find(all, "disk", "sdb")->rate, 285e6);
  EXPECT_EQ(find(all, "disk", "sdb")->link, "rotating");
  EXPECT_EQ(find(all, "disk", "md0")->rate, 0);
  EXPECT_EQ(find(all, "disk", "md0")->how, "the total rate of nvme0n1 is not reported");
  EXPECT_EQ(find(parts_of(node, "s3://bucket/data", load_table()), "disk", "disk")->how,
            "an object store, and no folder");
  root.write(nvme + "current_link_width", "1\n");
  EXPECT_EQ(find(parts(), "disk", "nvme0n1")->how, "PCIe gen 4 x1, where the disk could have PCIe gen 4 x4");
  EXPECT_NEAR(find(parts(), "disk", "nvme0n1")->rate, 7.877e9 / 4, 1e6);
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
  EXPECT_EQ(find(parts(), "memory", "memory")->how, "2 x AMD EPYC 9654 96-Core Processor");
  root.write("sys/devices/system/cpu/cpu1/topology/physical_package_id", "0\n");
  EXPECT_EQ(find(parts(), "memory", "memory")->rate, 460.8e9);
  EXPECT_EQ(find(parts(), "memory", "memory")->how, "AMD EPYC 9654 96-Core Processor");
  root.write("proc/cpuinfo", "model name\t: AMD EPYC 9654 96-Core Processor\nflags\t\t: fpu hypervisor\n");
  EXPECT_EQ(find(parts(), "memory", "memory")->rate, 0);
  EXPECT_EQ(find(parts(), "memory", "memory")->how, "a virtual machine has a share of its host's memory");
  root.write("proc/cpuinfo", "model name\t: VIA Nano\nflags\t\t: fpu\n");
  EXPECT_EQ(find(parts(), "memory", "memory")->rate, 0);
}

struct LaidPorts : testing::MadeUpPorts {
  /// What is said of each port, by its name.
  std::map<std::string, std::string> how() {
    std::filesystem::create_directories(sys() + "/machine");
    if (!std::filesystem::exists(sys() + "/machine/sys"))
      std::filesystem::create_directory_symlink(sys(), sys() + "/machine/sys");
    testing::TemporaryFolder scratch;
    Node node{scratch / "scratch"};
    std::map<std::string, std::string> all;
    for (const Part& part : parts_of(node, scratch.path(), load_table(), sys() + "/machine"))
      if (part.kind == "rdma_port" || part.kind == "ethernet_port")
        all[part.name] = fmt::format("{} {:.1f} {}", part.kind, part.rate / 1e9, part.how);
    return all;
  }
};

TEST_F(LaidPorts, CarryTheReportedRateAndNoMoreThanTheirSlots) {
  ethernet("eth0");
  ethernet("eth1", "-1");
  ethernet("eth2", "0");
  put("class/net/eth2/operstate", "down");
  stacked("bond0", "bond", {"eth0"});
  stacked("veth0", "");
  rdma("mlx5_0");
  rdma("mlx5_1");
  card("class/infiniband/mlx5_1/device", "8.0 GT/s PCIe", "8");
  stacked("br0", "bridge", {"eth1"});
  rdma("mlx5_3");
  put("class/infiniband/mlx5_3/device/current_link_speed", "Unknown");
  rdma("mlx5_2", "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet");
  rdma("iw0", "100 Gb/sec (4X EDR)", "4: ACTIVE", "");
  rdma("iw1", "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet");
  put("class/infiniband/iw1/node_type", "4: RNIC");
  rdma("mlx5_4");
  put("class/infiniband/mlx5_4/device/max_link_width", "2");
  put("class/infiniband/mlx5_4/device/vpd", "SW_MNG");
  EXPECT_EQ(how(), (std::map<std::string, std::string>{
                       {"bond0", "ethernet_port 0.0 its cards have lines of their own"},
                       {"br0", "ethernet_port 0.0 its cards have lines of their own"},
                       {"eth0", "ethernet_port 12.5 Ethernet at 100 Gbit/s"},
                       {"eth1", "ethernet_port 0.0 its rate is not reported, as with virtual cards"},
                       {"eth2", "ethernet_port 0.0 it is not up"},
                       {"iw0/1", "rdma_port 0.0 neither InfiniBand nor RoCE: it has no reliable connections"},
                       {"iw1/1", "rdma_port 0.0 iWARP, which headrace does not measure"},
                       {"mlx5_0/1", "rdma_port 50.0 InfiniBand at 400 Gbit/s"},
                       {"mlx5_1/1",
                        "rdma_port 7.9 InfiniBand at 400 Gbit/s, of which PCIe gen 3 x8 of gen 5 x16 "
                        "carries 63"},
                       {"mlx5_2/1", "rdma_port 12.5 RoCE at 100 Gbit/s"},
                       {"mlx5_3/1", "rdma_port 50.0 InfiniBand at 400 Gbit/s"},
                       {"veth0", "ethernet_port 0.0 no card behind it"}}));
}

}  // namespace
}  // namespace headrace::expectations::expectations_test
