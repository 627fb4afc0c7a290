// Which points make a curve, of what, and among how many.
#include "harness/engine/explain/fits.h"

#include <gtest/gtest.h>

#include "tests/unit/source_dir.h"

namespace headrace::engine::fits_test {
namespace {

/// Points of times alpha + size / rate.
class Fits : public ::testing::Test {
 protected:
  static constexpr double kAlpha_s = 2e-6, kRate = 10e9;

  void add(const std::string& workload, std::uint64_t size, std::map<std::string, ParamValue> more,
           std::optional<GroupShape> group, double busbw_share = 0) {
    Point& point = points_.emplace_back();
    point.id = workload + "/" + std::to_string(size) + "/" + std::to_string(points_.size());
    point.info = Registry::instance().find(workload);
    point.params = std::move(more);
    point.params["message_size"] = size;
    PointResult& result = results_.emplace_back();
    result.status = PointStatus::ok;
    result.group = group;
    const double time_s = kAlpha_s + static_cast<double>(size) / kRate;
    const auto metric = [&](const char* name, double median) {
      result.metrics.emplace_back().name = name;
      result.metrics.back().median = median;
    };
    metric("time_s", time_s);
    if (busbw_share > 0) {
      metric("algbw", static_cast<double>(size) / time_s);
      metric("busbw", static_cast<double>(size) / time_s * busbw_share);
    }
  }
  std::vector<CollectiveCurve> fit() {
    for (std::size_t i = 0; i < results_.size(); ++i) results_[i].point = &points_[i];
    return fit_curves(plan_, results_);
  }

  Plan plan_;
  std::vector<Point> points_;
  std::vector<PointResult> results_;
};

TEST_F(Fits, AMessageIsBetweenTwo) {
  const std::map<std::string, ParamValue> latency{{"measure", std::string("latency")}};
  for (const std::uint64_t size : {8u, 4096u, 1u << 20}) add("rdma_write", size, latency, std::nullopt);
  const auto curves = fit();
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].ranks, 2u);
  EXPECT_EQ(curves[0].link.what, Collective::send_recv);
  EXPECT_EQ(curves[0].times[1].first, 4096);
  EXPECT_NEAR(curves[0].fit.fixed_s.value, kAlpha_s, 1e-12);
  EXPECT_NEAR(curves[0].link.bytes_per_s.value, kRate, 1e3);
  EXPECT_TRUE(curves[0].job.empty());
  EXPECT_TRUE(results_[0].notes.empty());
  ASSERT_EQ(results_[2].notes.size(), 1u);  // the largest size reports
  EXPECT_NE(results_[2].notes[0].find("fitted over 3 sizes: 2.00 µs"), std::string::npos) << results_[2].notes[0];
  EXPECT_EQ(results_[2].notes[0].find("ring"), std::string::npos) << results_[2].notes[0];
}

/// As many ranks as the workload reports; of the job's gradients it says what they take.
TEST_F(Fits, ACollectiveIsOfItsGroup) {
  plan_.job = job::load_job(source_dir() + "/configs/jobs/llama3-70b.yaml", {});
  for (const std::uint64_t size : {65536u, 1u << 20, 25u << 20})
    add("rdma_all_reduce", size, {}, GroupShape{4, 4, 1}, 1.5);
  const auto curves = fit();
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].ranks, 4u);
  EXPECT_NEAR(curves[0].link.alpha_s.value, kAlpha_s / 6, 1e-12);
  ASSERT_EQ(curves[0].job.size(), 1u);
  EXPECT_EQ(curves[0].job[0].need, "network.gradient_busbw");
  EXPECT_EQ(curves[0].job[0].ranks, 64);
  EXPECT_NE(results_[2].notes[0].find("a ring of 4 ranks (F3)"), std::string::npos) << results_[2].notes[0];
  ASSERT_TRUE(curves[0].job[0].tree_s);
  EXPECT_NE(results_[2].notes[0].find("(as a tree "), std::string::npos) << results_[2].notes[0];
}

TEST_F(Fits, ADifferenceInMoreThanSizeIsNoCurve) {
  const std::map<std::string, ParamValue> near{{"numa", std::string("local")}}, far{{"numa", std::string("remote")}};
  add("rdma_write", 8, near, std::nullopt);
  add("rdma_write", 4096, far, std::nullopt);
  add("rdma_write", 65536, near, std::nullopt);
  add("rdma_read", 1 << 20, near, std::nullopt);
  EXPECT_TRUE(fit().empty());
  for (const std::uint64_t size : {8u, 4096u, 65536u}) add("mpi_all_reduce", size, {}, GroupShape{1, 1, 1}, 1);
  EXPECT_TRUE(fit().empty());  // one rank: nothing moves
}

}  // namespace
}  // namespace headrace::engine::fits_test
