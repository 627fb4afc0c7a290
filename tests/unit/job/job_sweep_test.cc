// Sweeps: axes, points that cannot be, outputs and the figure.
#include "harness/job/job_sweep.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/diagnostics.h"
#include "tests/unit/source_dir.h"

namespace headrace::job::job_sweep_test {
namespace {

config::Value job(const std::string& name) {
  Diagnostics problems;
  auto root = config::read_yaml(source_dir() + "/configs/jobs/" + name + ".yaml", problems);
  problems.throw_if_any();
  return root;
}

TEST(JobSweep, CrossesAxesTheLastFastest) {
  const Sweep sweep = sweep_job(job("resnet50-imagenet"), {"cluster.nodes=1..4*2", "step.time=100ms,200ms"},
                                {"ingest.read_bandwidth@cluster"});
  ASSERT_EQ(sweep.points.size(), 6u);
  ASSERT_EQ(sweep.columns.size(), 1u);
  EXPECT_EQ(sweep.points[1].values, (std::vector<std::string>{"1", "200ms"}));
  EXPECT_DOUBLE_EQ(sweep.points[1].needs[0], 1.2 * 1.3312e9);
  EXPECT_DOUBLE_EQ(sweep.points[4].needs[0], 1.2 * 1.3312e9 * 8);
}

TEST(JobSweep, KeepsPointsThatCannotBe) {
  const Sweep sweep = sweep_job(job("llm-70b"), {"cluster.nodes=1..8*2"}, {});
  EXPECT_NE(sweep.points[0].refused.find("cannot be divided"), std::string::npos);
  EXPECT_EQ(sweep.points[2].refused, "");
  EXPECT_NE(sweep.points[0].refused.find("cluster.gpus_per_node"), std::string::npos);
  EXPECT_THROW(sweep_job(job("llm-70b"), {"cluster.nodes=1,2"}, {}), UsageError);
}

TEST(JobSweep, ColumnsAppearWhereNeedsDo) {
  const Sweep sweep =
      sweep_job(job("llm-70b"), {"checkpoint.mode=sync,async"}, {"gpu.d2h_bandwidth@gpu", "checkpoint.write*@cluster"});
  ASSERT_EQ(sweep.columns.size(), 2u);
  EXPECT_LT(sweep.points[0].needs[1], 0);
  EXPECT_GT(sweep.points[1].needs[1], 0);
  const auto root = nlohmann::json::parse(sweep_json(sweep));
  EXPECT_TRUE(root["points"][0]["needs"][1].is_null());
  EXPECT_EQ(root["needs"][1]["id"], "gpu.d2h_bandwidth");
}

TEST(JobSweep, RefusesInvalidAxes) {
  for (const char* axis : {"", "step.time", "=1,2", "cluster.nodes=1..0*2", "cluster.nodes=1..1e9+1", "step.tim=1s"})
    EXPECT_THROW(sweep_job(job("resnet50-imagenet"), {axis}, {}), UsageError) << axis;
}

TEST(JobSweep, CsvHasALinePerPoint) {
  const Sweep sweep = sweep_job(job("resnet50-imagenet"), {"cluster.nodes=1..1024*2"}, {});
  const std::string csv = sweep_csv(sweep);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 12);
  const auto commas = [](std::string_view line) { return std::count(line.begin(), line.end(), ','); };
  const std::string_view all = csv;
  const std::size_t second = all.find('\n') + 1;
  EXPECT_EQ(commas(all.substr(0, second)), commas(all.substr(second, all.find('\n', second) - second)));
}

TEST(JobSweep, CsvQuotesCommas) {
  const Sweep sweep = sweep_job(job("llm-70b"), {"job=plain,a \"b\""}, {"ingest.sample_rate"});
  EXPECT_NE(sweep_csv(sweep).find("\n\"a \"\"b\"\"\","), std::string::npos) << sweep_csv(sweep);
  const Sweep refused = sweep_job(job("llm-70b"), {"step.time=1s,1"}, {"ingest.*"});
  const std::string csv = sweep_csv(refused);
  EXPECT_NE(csv.find(",\"step.time: '1' needs a unit: ns, us"), std::string::npos) << csv;
}

}  // namespace
}  // namespace headrace::job::job_sweep_test
