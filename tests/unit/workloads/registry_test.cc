// Registration, the catalogue of metrics, and what a percentile's name stands for.
#include "harness/workload/registry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/workload/workload.h"

namespace headrace::registry_test {
namespace {

class Nothing final : public Workload {
 public:
  explicit Nothing(Params&) {}
  static std::span<const Metric> metrics() {
    static constexpr Metric kMetrics[] = {{"read_bandwidth", "B/s", Better::higher, "bytes per second"}};
    return kMetrics;
  }
  void run(Worker&) override {}
  void report(const Repetition&, MetricSink&) const override {}
};
/// Like Nothing, but what it reports never changes.
class Known final : public Workload {
 public:
  explicit Known(Params&) {}
  static constexpr WorkloadTraits kTraits{.deterministic = true, .across_ranks = AcrossRanks::first};
  static std::span<const Metric> metrics() { return Nothing::metrics(); }
  void run(Worker&) override {}
  void report(const Repetition&, MetricSink&) const override {}
};
const Register<Known> known{"yy_test_known", "knows"};
const Register<Nothing> second{"zz_test_nothing", "does nothing"};
const Register<Nothing> first{"aa_test_nothing", "does nothing either"};

TEST(Registry, FindsByNameAndSorts) {
  const Registry& r = Registry::instance();
  ASSERT_NE(r.find("zz_test_nothing"), nullptr);
  EXPECT_EQ(r.find("zz_test_nothing")->description, "does nothing");
  EXPECT_EQ(r.find("no_such"), nullptr);
  const auto names = r.names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Registry, HasTheTraitsThatAWorkloadDefinesAndElseTheDefaults) {
  const WorkloadTraits& own = Registry::instance().find("yy_test_known")->traits;
  EXPECT_TRUE(own.deterministic);
  EXPECT_EQ(own.across_ranks, AcrossRanks::first);
  const WorkloadTraits& usual = Registry::instance().find("aa_test_nothing")->traits;
  EXPECT_FALSE(usual.deterministic);
  EXPECT_EQ(usual.across_ranks, AcrossRanks::add);
  EXPECT_FALSE(Registry::instance().find("input_pipeline")->traits.threads_stay);
  EXPECT_TRUE(Registry::instance().find("gpu_burn")->traits.one_per_node);
}

TEST(RegistryDeathTest, ADuplicateNameAborts) {
  EXPECT_DEATH((Register<Nothing>{"zz_test_nothing", "again"}), "two workloads are named 'zz_test_nothing'");
}

TEST(Registry, TheCatalogueHoldsOwnStandardAndPartMetrics) {
  const std::vector<std::string> parts{"open"};
  const auto all = metric_catalogue(*Registry::instance().find("zz_test_nothing"), parts, {});
  const auto has = [&](std::string_view name) {
    return std::count_if(all.begin(), all.end(), [&](const MetricInfo& m) { return m.name == name; });
  };
  for (const char* name : {"read_bandwidth", "latency_p50_ns", "latency_p99_ns", "latency_max_ns", "elapsed_s", "cpu_s",
                           "open_latency_p99_ns", "open_latency_max_ns"}) {
    EXPECT_EQ(has(name), 1) << name;
  }
  EXPECT_EQ(has("open_elapsed_s"), 0);
  EXPECT_EQ(all.front().name, "read_bandwidth");
}

TEST(Registry, AMetricOfEachDevice) {
  static constexpr Metric kMetrics[] = {{"bandwidth", "B/s", Better::higher, "bytes per second", /*per_device=*/true},
                                        {"errors", "count", Better::lower, "wrong bytes"}};
  const WorkloadInfo info{"two_devices", "", kMetrics, nullptr};
  const std::vector<std::string> devices{"gpu0", "gpu1"};
  const auto all = metric_catalogue(info, {}, devices);
  ASSERT_GT(all.size(), 4u);
  EXPECT_EQ(all[0].name, "bandwidth");
  EXPECT_EQ(all[2].name, "bandwidth_gpu0");
  EXPECT_EQ(all[2].unit, "B/s");
  EXPECT_EQ(all[2].description, "bytes per second (gpu0)");
  EXPECT_EQ(all[3].name, device_metric("bandwidth", "gpu1"));
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& m) { return m.name.starts_with("errors"); }), 1);
}

TEST(Registry, PercentileNames) {
  EXPECT_DOUBLE_EQ(percentile_of("latency_p50_ns").value(), 0.5);
  EXPECT_DOUBLE_EQ(percentile_of("open_latency_p99_ns").value(), 0.99);
  EXPECT_DOUBLE_EQ(percentile_of("latency_p999_ns").value(), 0.999);
  for (const char* name : {"latency_max_ns", "read_bandwidth", "latency_p99_s", "first_part_ns", "_p_ns"}) {
    EXPECT_FALSE(percentile_of(name)) << name;
  }
}

}  // namespace
}  // namespace headrace::registry_test
