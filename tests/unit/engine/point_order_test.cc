// Which point of a rehearsal is measured next, by what those before gave.
#include "harness/engine/point_order.h"

#include <gtest/gtest.h>

#include "harness/engine/plan/rehearsal.h"

namespace headrace::engine::point_order_test {
namespace {

/// A rehearsal of one GPU that takes 200 samples/s, nothing measured yet.
struct Made {
  Plan plan;
  std::vector<PointResult> results;

  explicit Made(const std::vector<std::string>& ids) {
    plan.rehearsal = true;
    plan.job.emplace();
    plan.points.reserve(ids.size());
    for (const std::string& id : ids) {
      Point& point = plan.points.emplace_back();
      point.id = id;
      point.params = {{"batch_size", std::uint64_t{4}},       {"gpus", std::uint64_t{1}},
                      {"batches_per_step", std::uint64_t{1}}, {"step_time", 0.02},
                      {"workers", std::uint64_t{2}},          {"prefetch_factor", std::uint64_t{2}}};
      const std::string tried = std::string(rehearsal::kPipeline) + "/" + rehearsal::kWorkers;
      if (id.starts_with(tried)) point.params["workers"] = std::uint64_t{std::stoul(id.substr(tried.size()))};
      results.emplace_back().point = &point;
    }
  }
  /// The point that is measured next; "" = none.
  std::string next() const {
    const auto one = next_point(plan, results);
    return one ? plan.points[one->index].id : "";
  }
  void measure(const std::string& id, const std::string& metric, double value) {
    for (PointResult& p : results) {
      if (p.point->id != id) continue;
      p.status = PointStatus::ok;
      MetricSummary& summary = p.metrics.emplace_back();
      summary.name = metric;
      summary.median = summary.low = summary.high = value;
      Repetition& r = p.repetitions.emplace_back();
      r.cache.proven = true;
      r.metrics = {{metric, value}, {"sample_rate", metric == "sample_rate" ? value : 200 * value}};
    }
  }
  std::string why(const std::string& id) const {
    for (const Point& p : plan.points)
      if (p.id == id) return why_not_needed(plan, results, p);
    return "";
  }
};

const std::vector<std::string> kPoints{
    "input_pipeline/job",       "input_pipeline/no-step",        "input_pipeline/no-decode",
    "input_pipeline/in-memory", "input_pipeline/double-workers", "small_file_read/job"};

TEST(PointOrder, OtherPlansAreMeasuredInTheirOrder) {
  Made made({"b", "a"});
  made.plan.rehearsal = false;
  EXPECT_EQ(made.next(), "b");
  EXPECT_FALSE(next_point(made.plan, made.results)->share);
  made.measure("b", "rate", 1);
  EXPECT_EQ(made.next(), "a");
  made.measure("a", "rate", 1);
  EXPECT_EQ(made.next(), "");
}

TEST(PointOrder, WhereTheLoaderGivesEnoughNothingHasToShowItsLimit) {
  Made made(kPoints);
  EXPECT_EQ(made.next(), "input_pipeline/job");
  EXPECT_GT(*next_point(made.plan, made.results)->share, 0.3);
  made.measure("input_pipeline/job", "accelerator_utilization", 1);
  EXPECT_EQ(made.next(), "input_pipeline/no-step");
  made.measure("input_pipeline/no-step", "sample_rate", 400);
  EXPECT_EQ(made.next(), "small_file_read/job") << "what a prediction takes";
  EXPECT_EQ(*next_point(made.plan, made.results)->share, 1) << "all that is left is its";
  EXPECT_NE(made.why("input_pipeline/double-workers").find("gpus"), std::string::npos);
  made.measure("small_file_read/job", "sample_rate", 400);
  EXPECT_EQ(made.next(), "");
}

TEST(PointOrder, WhereMoreWorkersGiveMoreStorageAndDecodingNeedNotBeTakenAway) {
  Made made(kPoints);
  made.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  made.measure("input_pipeline/no-step", "sample_rate", 100);
  EXPECT_EQ(made.next(), "input_pipeline/double-workers");
  made.measure("input_pipeline/double-workers", "sample_rate", 190);
  EXPECT_EQ(made.next(), "small_file_read/job");
}

TEST(PointOrder, WhereTheyDoNotBothAreTakenAway) {
  Made made(kPoints);
  made.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  made.measure("input_pipeline/no-step", "sample_rate", 100);
  made.measure("input_pipeline/double-workers", "sample_rate", 100);
  EXPECT_EQ(made.next(), "input_pipeline/in-memory");
  made.measure("input_pipeline/in-memory", "sample_rate", 900);
  EXPECT_EQ(made.next(), "input_pipeline/no-decode") << "decoding may take its part, too";
}

TEST(PointOrder, SettingsAreTriedBeforeTheLimitIsShown) {
  std::vector<std::string> ids = kPoints;
  for (const int workers : {1, 3, 4, 5, 6, 7, 8}) ids.push_back("input_pipeline/workers-" + std::to_string(workers));
  Made made(ids);
  made.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  made.measure("input_pipeline/no-step", "sample_rate", 100);
  EXPECT_EQ(made.next(), "input_pipeline/workers-4") << "two workers reach half: 3.6 are the fewest that can be enough";
  const double share = *next_point(made.plan, made.results)->share;
  EXPECT_GT(share, 0.1);
  EXPECT_LT(share, 0.4) << "others may have to be tried, too";
  made.measure("input_pipeline/workers-4", "accelerator_utilization", 0.97);
  EXPECT_EQ(made.next(), "input_pipeline/double-workers") << "3 workers cannot be enough";
}

TEST(PointOrder, ASettingThatGaveNothingIsNotTriedAgain) {
  std::vector<std::string> ids = kPoints;
  ids.push_back("input_pipeline/workers-4");
  Made made(ids);
  made.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  made.measure("input_pipeline/no-step", "sample_rate", 100);
  made.results.back().status = PointStatus::error;
  EXPECT_EQ(made.next(), "input_pipeline/double-workers");
}

}  // namespace
}  // namespace headrace::engine::point_order_test
