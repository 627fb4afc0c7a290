// Scenarios of a job whose needs are round numbers, on systems whose limits are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/analysis/simulate/simulation.h"
#include "harness/base/diagnostics.h"
#include "harness/job/formula.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::simulate {
namespace {

/// Each node needs 8 MB/s; 14 GB are saved every 10 minutes.
constexpr const char* kJob = R"(schema: 1
job: known
cluster: {nodes: 4, gpus_per_node: 8}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 1000000, sample_size: 1MB, metadata_ops_per_open: 4}
model: {parameters: 1e9}
checkpoint: {interval: 10min, stall: 20s, bytes_per_parameter: 14, restore: 1h}
)";

job::Job job_of(double nodes, std::vector<std::string> overrides = {}) {
  const headrace::testing::TemporaryFolder folder;
  folder.write("job.yaml", kJob);
  overrides.push_back("cluster.nodes=" + std::to_string(static_cast<int>(nodes)));
  return job::load_job(folder / "job.yaml", overrides);
}

Sheet sheet_of(const std::string& body) {
  const headrace::testing::TemporaryFolder folder;
  folder.write("sheet.yaml", "schema: 1\nsheet: known\nsource: this test\n" + body);
  return load_sheet(folder / "sheet.yaml");
}

System system_of(const std::string& body) {
  System system;
  system.add_sheet(sheet_of(body));
  return system;
}

struct Got {
  double value = 0;
  Limit limit = Limit::none;
};
Got drawn(Figure figure, double nodes, const std::string& body, std::vector<std::string> overrides = {}) {
  const Work work = work_of(job_of(nodes, std::move(overrides)));
  const System system = system_of(body);
  const Drawn one = Scenarios(work, system).draw(1);
  const auto f = static_cast<std::size_t>(figure);
  return {one.values[f].value_or(-1), one.limits[f]};
}

TEST(Epochs, TheNarrowestPartDecides) {
  const auto is = [](const Got& got, double value, Limit limit) {
    EXPECT_NEAR(got.value, value, 1e-9);
    EXPECT_EQ(to_string(got.limit), to_string(limit));
  };
  const Figure busy = Figure::first_epoch_busy;
  is(drawn(busy, 10, "store: {read: 80MB/s}\nclient: {read: 20MB/s}"), 1, Limit::none);
  is(drawn(busy, 20, "store: {read: 80MB/s}\nclient: {read: 20MB/s}"), 0.5, Limit::store);
  is(drawn(busy, 20, "store: {read: 40MB/s, servers: 3, imbalance: 1.5}\nclient: {read: 20MB/s}"), 0.5, Limit::store);
  is(drawn(busy, 1, "store: {read: 80MB/s}\nclient: {read: 4MB/s}"), 0.5, Limit::client);
  is(drawn(busy, 1, "store: {read: 80MB/s}\nclient: {nic: 2MB/s}"), 0.25, Limit::nic);
  is(drawn(busy, 1, "store: {read: 1GB/s}\nclient: {slots: 4, request: 1MB, latency: 1s}"), 0.5, Limit::slots);
  is(drawn(busy, 1, "store: {read: 1GB/s}\nclient: {slots: 4, connections: 2, request: 1MB, latency: 1s}"), 1,
     Limit::none);
  is(drawn(busy, 8, "store: {read: 1GB/s}\nclient: {nic: 10MB/s}\nnetwork: {nodes_per_switch: 4, oversubscription: 5}"),
     0.25, Limit::uplink);
  is(drawn(busy, 40, "store: {read: 1GB/s}\nclient: {read: 10MB/s, slow_share: 0.5, slow_rate: 0.4}"), 0.5,
     Limit::slow_node);
  // 8 files with 4 operations each second and node.
  is(drawn(busy, 10, "store: {read: 1GB/s, opens: 160/s}\nclient: {read: 20MB/s, opens: 1000/s}"), 0.5, Limit::opens);
  EXPECT_NEAR(drawn(Figure::step_time, 20, "store: {read: 80MB/s}\nclient: {read: 20MB/s}").value, 2, 1e-9);
}

TEST(Epochs, ACacheTakesItsShare) {
  // Three quarters of the data set lie on each node.
  const std::vector<std::string> cached{"local_cache.capacity=750GB"};
  const std::string store = "store: {read: 20MB/s}\nclient: {read: 20MB/s}";
  EXPECT_NEAR(drawn(Figure::first_epoch_busy, 10, store, cached).value, 0.25, 1e-9);
  EXPECT_NEAR(drawn(Figure::later_epochs_busy, 10, store, cached).value, 1, 1e-9);
}

TEST(Saves, TakeTheRateOfTheStoreAndTheNodes) {
  EXPECT_NEAR(drawn(Figure::save_time, 4, "store: {write: 1.4GB/s}\nclient: {write: 1.4GB/s}").value, 10, 1e-9);
  EXPECT_EQ(drawn(Figure::save_time, 4, "store: {write: 14GB/s}\nclient: {write: 350MB/s}").limit, Limit::client);
  EXPECT_NEAR(drawn(Figure::save_time, 4, "store: {write: 14GB/s}\nclient: {write: 350MB/s}").value, 10, 1e-9);
  // One replica is on one node, which then writes all.
  EXPECT_NEAR(drawn(Figure::save_of_one_replica, 4, "store: {write: 14GB/s}\nclient: {write: 350MB/s}").value, 40,
              1e-9);
  EXPECT_NEAR(drawn(Figure::save_copy, 4, "store: {write: 14GB/s}\nclient: {write: 1GB/s, staging: 3.5GB/s}",
                    {"checkpoint.mode=async"})
                  .value,
              1, 1e-9);
  EXPECT_NEAR(drawn(Figure::restore_time, 4, "store: {read: 2.8GB/s}\nclient: {read: 2.8GB/s}").value, 5, 1e-9);
}

TEST(Saves, AndReadsShareTheStoresTime) {
  // Reading takes 8 of 16 MB/s, half of the store's time; the save has the other half.
  const std::string store = "store: {read: 16MB/s, write: 1.4GB/s}\nclient: {read: 16MB/s, write: 1.4GB/s}";
  EXPECT_NEAR(drawn(Figure::save_during_reading, 1, store).value, 20, 1e-9);
  EXPECT_NEAR(drawn(Figure::busy_during_save, 1, store).value, 1, 1e-9);
  const std::string slow = "store: {read: 8MB/s, write: 1.4GB/s}\nclient: {read: 8MB/s, write: 1.4GB/s}";
  EXPECT_NEAR(drawn(Figure::busy_during_save, 1, slow).value, 0.5, 1e-9);
}

TEST(Goodput, IsOnAverageTheFormulasValue) {
  const Work work = work_of(job_of(4, {"cluster.mtbf=2h", "cluster.restart=5min", "cluster.run_time=2000h"}));
  const System system = system_of("store: {write: 1.4GB/s, read: 1.4GB/s}\nclient: {write: 1.4GB/s, read: 1.4GB/s}");
  double mean = 0;
  constexpr int kSeeds = 200;
  for (int seed = 0; seed < kSeeds; ++seed)
    mean += *Scenarios(work, system)
                 .draw(static_cast<std::uint64_t>(seed))
                 .values[static_cast<std::size_t>(Figure::goodput)] /
            kSeeds;
  const double expected =
      job::apply("E17", {{"interval_s", 600.0}, {"stall_s", 10.0}, {"restart_s", 310.0}, {"mtbf_s", 7200.0}}).value();
  EXPECT_NEAR(mean, expected, 0.003);
}

SimulationPlan plan_of(const std::vector<double>& nodes, const std::string& body, unsigned seeds = 50) {
  SimulationPlan plan;
  for (const double n : nodes) plan.jobs.push_back(job_of(n));
  plan.system = system_of(body);
  plan.seeds = seeds;
  return plan;
}

TEST(Simulation, FindsTheLimitAndItsCause) {
  const std::string store = "store: {read: 80MB/s, write: 14GB/s}\nclient: {read: 20MB/s, write: 14GB/s}";
  const Simulation s = simulate(plan_of({1, 8, 16, 32}, store));
  ASSERT_FALSE(s.breaks.empty());
  EXPECT_EQ(s.breaks.front().figure, Figure::first_epoch_busy);
  EXPECT_EQ(s.breaks.front().nodes, 16);
  EXPECT_EQ(s.breaks.front().holds_to, 8);
  EXPECT_EQ(s.breaks.front().limit, Limit::store);
  EXPECT_EQ(s.word, Outcome::fail);
  ASSERT_FALSE(s.gains.empty());
  EXPECT_NEAR(s.gains.front().gain, 0.1, 1e-9);
  EXPECT_TRUE(s.gains.front().key == "store.read" || s.gains.front().key == "store.servers") << s.gains.front().key;
  for (const Gain& g : s.gains) EXPECT_FALSE(g.key.starts_with("client.")) << g.key;
}

TEST(Simulation, SaysHowManyNodesAreNeededAtLeast) {
  // 14 GB within 20 s: one node writes 500 MB/s, two are enough.
  const Simulation s = simulate(plan_of({1, 2, 4}, "store: {read: 14GB/s, write: 14GB/s}\nclient: {write: 500MB/s}"));
  ASSERT_EQ(s.breaks.size(), 1u);
  EXPECT_EQ(s.breaks[0].figure, Figure::save_time);
  EXPECT_EQ(s.breaks[0].holds_from, 2);
  EXPECT_EQ(s.breaks[0].nodes, 0);
  EXPECT_EQ(s.breaks[0].limit, Limit::client);
  EXPECT_NE(s.cause.find("No limit is missed"), std::string::npos);
}

TEST(Simulation, NeverPasses) {
  const Simulation s =
      simulate(plan_of({1, 2}, "store: {read: 80GB/s, write: 80GB/s}\nclient: {read: 20GB/s, write: 20GB/s}"));
  EXPECT_TRUE(s.breaks.empty());
  EXPECT_EQ(s.word, Outcome::inconclusive);
}

TEST(Simulation, IsInconclusiveWhereOnlySomeSeedsMiss) {
  SimulationPlan plan = plan_of({4}, "client: {read: 1GB/s, write: 1GB/s}\nstore: {write: 80GB/s}", 200);
  plan.system.read = {.measured = {{4, 32e6 * 0.9, 20e6, 60e6}}};
  const Simulation s = simulate(plan);
  const Spread& busy = *s.scales[0].find(Figure::first_epoch_busy);
  EXPECT_LT(busy.low, 0.9);
  EXPECT_EQ(busy.high, 1);
  EXPECT_FALSE(busy.fails());
  EXPECT_EQ(s.word, Outcome::inconclusive);
}

TEST(Simulation, DependsOnTheSeedAloneAndNotOnThreads) {
  SimulationPlan plan =
      plan_of({3, 6}, "store: {read: 80MB/s, write: 1.4GB/s}\nclient: {read: 9MB/s, write: 1GB/s, variation: 0.1}");
  const auto medians = [](const Simulation& s) {
    std::vector<double> all;
    for (const Scale& scale : s.scales)
      for (const Spread& one : scale.figures) all.insert(all.end(), {one.low, one.median, one.high});
    return all;
  };
  const auto first = medians(simulate(plan));
  plan.threads = 3;
  EXPECT_EQ(medians(simulate(plan)), first);
  plan.seed = 2;
  EXPECT_NE(medians(simulate(plan)), first);
}

TEST(Simulation, PricesDecideTheOrderOfGains) {
  const std::string store =
      "store: {read: 40MB/s, write: 14GB/s, servers: 2}\nclient: {read: 80MB/s}\nprices: {store.read: 1000, "
      "store.servers: 100}";
  const Simulation s = simulate(plan_of({32}, store));
  ASSERT_GE(s.gains.size(), 2u);
  EXPECT_EQ(s.gains[0].key, "store.servers");
}

TEST(Simulation, SlowNodesAndManyOfThemMakeItWorse) {
  const Simulation s = simulate(plan_of({1, 100}, "store: {read: 80GB/s}\nclient: {read: 9MB/s, variation: 0.1}", 200));
  EXPECT_GT(s.scales[0].find(Figure::first_epoch_busy)->median, 0.99);
  EXPECT_LT(s.scales[1].find(Figure::first_epoch_busy)->median, 0.97);
}

/// What is reported of wrong input; "" where nothing is.
template <class Call>
std::string refusal_of(Call&& call) {
  try {
    call();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

std::string refused(const SimulationPlan& plan) {
  return refusal_of([&] { check(plan); });
}

TEST(SimulationCheck, NamesImpossibleParts) {
  EXPECT_EQ(refused(plan_of({4}, "store: {read: 80MB/s}")), "");
  EXPECT_NE(refused(plan_of({4}, "client: {variation: 0.1}")).find("nothing is known of a shared store"),
            std::string::npos);
  EXPECT_NE(refused(plan_of({4, 6, 8}, "store: {read: 1GB/s}\nclient: {nic: 1GB/s}\nnetwork: {nodes_per_switch: 4}"))
                .find("6 nodes do not divide into switches of 4: nearest are 4 and 8"),
            std::string::npos);
  // 14 GB by one node at 100 MB/s take 140 s; four nodes take 35 s.
  EXPECT_NE(refused(plan_of({1, 4}, "store: {write: 1GB/s}\nclient: {write: 100MB/s}"))
                .find("checkpoint.stall: 20.0 s is impossible"),
            std::string::npos);
  EXPECT_EQ(refused(plan_of({1, 8}, "store: {write: 1GB/s}\nclient: {write: 100MB/s}")), "");
  SimulationPlan other =
      plan_of({4}, "store: {read: 1GB/s}\nclient: {nic: 1GB/s}\nnetwork: {nodes_per_switch: 4, oversubscription: 4}");
  other.jobs = {job_of(4, {"cluster.nics_per_node=1", "cluster.nic_rate=100Gbit/s", "fabric.oversubscription=2"})};
  EXPECT_NE(
      refused(other).find("network.oversubscription: 4 contradicts the job's fabric.oversubscription of 2: must be 2"),
      std::string::npos)
      << refused(other);
  SimulationPlan plan = plan_of({4}, "client: {nic: 100MB/s}");
  plan.system.read = {.measured = {{1, 200e6, 190e6, 210e6}}};
  EXPECT_NE(refused(plan).find("client.nic: 100 MB/s contradicts the measured reads: 1 client got 190 MB/s each"),
            std::string::npos);
}

std::string sheet_error(const std::string& body) {
  return refusal_of([&] { sheet_of(body); });
}

TEST(Sheet, NamesEachProblemWithItsPlace) {
  EXPECT_EQ(sheet_error("store: {read: 1GB/s}"), "");
  EXPECT_NE(
      sheet_error("store: {read: 0GB/s}").find("sheet.yaml:4:15: store.read: 0GB/s is out of range: must be above 0"),
      std::string::npos)
      << sheet_error("store: {read: 0GB/s}");
  EXPECT_NE(sheet_error("store: {raed: 1GB/s}").find("unknown key 'raed'; did you mean 'read'?"), std::string::npos);
  EXPECT_NE(sheet_error("store: {read: 1GB}").find("store.read"), std::string::npos);
  EXPECT_NE(sheet_error("stroe: {read: 1GB/s}").find("did you mean 'store'?"), std::string::npos);
  EXPECT_NE(sheet_error("client: {slots: 4}").find("client.slots: says nothing without the time of a request"),
            std::string::npos);
  EXPECT_NE(sheet_error("store: {read: 1GB/s}\nclient: {read: 2GB/s}").find("at most 1 GB/s (store.read)"),
            std::string::npos);
  EXPECT_NE(sheet_error("prices: {store.raed: 3}").find("did you mean 'store.read'?"), std::string::npos);
}

/// The least and the most of many courses at a number of clients.
std::pair<double, double> courses(const Supply& supply, double clients) {
  double least = HUGE_VAL, most = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(mix(seed));
    const double at = Course(supply, random).at(clients);
    least = std::min(least, at);
    most = std::max(most, at);
  }
  return {least, most};
}

void lie_between(const Supply& supply, double clients, double low, double high) {
  const auto [least, most] = courses(supply, clients);
  EXPECT_NEAR(least, low, 0.01 * low);
  EXPECT_NEAR(most, high, 0.01 * high);
}

TEST(Supply, ContinuesAsTheCountsGrew) {
  const std::vector<Counted> straight{{1, 10, 10, 10}, {2, 20, 20, 20}}, bent{{1, 10, 10, 10}, {3, 15, 15, 15}};
  lie_between({.measured = straight}, 8, 80, 80);
  lie_between({.measured = {{1, 20, 20, 20}, {2, 20, 20, 20}}, .saturated = true}, 8, 20, 20);
  lie_between({.measured = straight, .saturated = true}, 8, 80, 80);  // the counts themselves still grew
  lie_between({.measured = straight}, 1.5, 15, 15);
  lie_between({.measured = straight}, 0.5, 5, 5);
  lie_between({.measured = straight, .most = 50}, 8, 50, 50);
  // a = 1/10 and b = (3/15 - 1/10) / 2 = 1/20: nine clients get 9 / (0.1 + 8 * 0.05) at least, and 45 in proportion.
  lie_between({.measured = bent}, 9, 18, 45);
  lie_between({.measured = bent}, 3, 15, 15);
}

TEST(Supply, OneCountLeavesItsGrowthOpen) { lie_between({.measured = {{2, 20, 20, 20}}}, 8, 20, 80); }

TEST(Supply, ExpectedRatesAreThoseOfASimulatedStorm) {
  const Supply supply{.measured = {{1, 350e6, 330e6, 370e6}, {4, 900e6, 850e6, 950e6}}};
  constexpr unsigned kNodes = 16;
  std::vector<double> rates;
  for (unsigned i = 0; i < kSeeds; ++i) {
    Random random(mix(mix(kSeed) + i));
    const Course course(supply, random);
    Storm storm{.flows = std::vector<Flow>(kNodes, Flow{.bytes = 1e9}), .speeds = {course.client()}};
    storm.store = [&course](double clients) { return course.at(clients); };
    rates.push_back(kNodes * 1e9 / run(storm).end_s);
  }
  const Quantiles stormed = quantiles_of(rates), expected = expected_rate(supply, kNodes);
  EXPECT_NEAR(expected.low / stormed.low, 1, 1e-9);
  EXPECT_NEAR(expected.median / stormed.median, 1, 1e-9);
  EXPECT_NEAR(expected.high / stormed.high, 1, 1e-9);
  SimulationPlan plan{.jobs = {job_of(kNodes)}};
  plan.system.save = supply;
  const Simulation s = simulate(plan);
  const Spread* save = s.scales[0].find(Figure::save_time);
  ASSERT_NE(save, nullptr);
  EXPECT_NEAR(14e9 / save->median / expected.median, 1, 1e-3);
  EXPECT_NEAR(14e9 / save->high / expected.low, 1, 1e-3);
}

TEST(Supply, BoundsAreThoseOf95Percent) {
  const Supply supply{.measured = {{1, 100, 80, 125}}};
  int below = 0, above = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Random random(mix(seed));
    const double at = Course(supply, random).at(1);
    below += at < 80;
    above += at > 125;
  }
  EXPECT_NEAR(below / 4000.0, 0.05, 0.012);
  EXPECT_NEAR(above / 4000.0, 0.05, 0.012);
}

}  // namespace
}  // namespace headrace::simulate
