// Spreads of inputs carried to the needs.
#include "harness/job/uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/job/formula.h"
#include "harness/job/need_output.h"
#include "tests/unit/source_dir.h"

namespace headrace::job::uncertainty_test {
namespace {

std::vector<Need> needs(const std::vector<std::string>& overrides) {
  return derive_needs(load_job(source_dir() + "/configs/jobs/resnet50-imagenet.yaml", overrides));
}

const Need& find(const std::vector<Need>& all, std::string_view id) {
  for (const Need& need : all)
    if (need.id == id) return need;
  throw std::runtime_error(std::string(id));
}

TEST(Uncertainty, OfTheReadBandwidthIsG10) {
  const auto all = needs({"dataset.sample_size=130kB +- 6.5kB", "step.time=200ms +- 20ms"});
  const double g10 = apply("G10", {{"sample_bytes_rel_ratio", 0.05},
                                   {"step_time_rel_ratio", 0.1},
                                   {"hit_ratio_abs_ratio", 0},
                                   {"cache_hit_ratio", 0}})
                         .value();
  const Need& bandwidth = find(all, "ingest.read_bandwidth");
  EXPECT_NEAR(bandwidth.uncertainty, g10, 1e-7);
  EXPECT_NEAR(bandwidth.need, 1.2 * bandwidth.required * (1 + g10), 1);
  EXPECT_EQ(bandwidth.required, 1.3312e9);
  EXPECT_NEAR(find(all, "ingest.sample_rate").uncertainty, 0.1, 1e-7);
}

TEST(Uncertainty, ReachesOnlyDependentValues) {
  const auto all = needs({"dataset.cpu_time_per_sample=10ms +- 1ms"});
  EXPECT_NEAR(find(all, "host.cpu_cores").uncertainty, 0.1, 0.01);  // rounded up to whole cores
  EXPECT_EQ(find(all, "ingest.read_bandwidth").uncertainty, 0);
  EXPECT_EQ(find(all, "ingest.read_bandwidth").need, 1.2 * 1.3312e9);
}

TEST(Uncertainty, FollowsCorrelatedInputs) {
  // Larger samples also make the cache hold a smaller share: the steady need grows faster than the
  // size.
  const auto all = needs({"dataset.sample_size=130kB +- 5%"});
  EXPECT_GT(find(all, "ingest.steady_read_bandwidth").uncertainty, 0.05);
}

TEST(Uncertainty, IsReported) {
  const Job job = load_job(source_dir() + "/configs/jobs/resnet50-imagenet.yaml", {"step.time=200ms +- 10%"});
  const auto all = derive_needs(job);
  EXPECT_NE(needs_json(job, all).find("\"relative_uncertainty\": 0.1"), std::string::npos);
}

}  // namespace
}  // namespace headrace::job::uncertainty_test
