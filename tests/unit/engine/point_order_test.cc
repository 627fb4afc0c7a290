// Which point of a rehearsal is measured next, by what those before gave.
#include "harness/engine/point_order.h"

#include <gtest/gtest.h>

#include "harness/engine/plan/rehearsal.h"
#include "harness/engine/plan/time_share.h"

namespace headrace::engine::point_order_test {
namespace {

using namespace time_share;

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
      if (id.find(rehearsal::kPrefetch) != std::string::npos) point.params["prefetch_factor"] = std::uint64_t{4};
      results.emplace_back().point = &point;
    }
  }
  /// The point that is measured next; "" = none.
  std::string next() const {
    const auto one = next_point(plan, results);
    return one ? plan.points[one->index].id : "";
  }
  std::optional<double> share() const { return next_point(plan, results)->share; }
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
  EXPECT_FALSE(made.share());
  made.measure("b", "rate", 1);
  EXPECT_EQ(made.next(), "a");
  made.measure("a", "rate", 1);
  EXPECT_EQ(made.next(), "");
}

TEST(PointOrder, AFastLoaderNeedsNoLimit) {
  Made made(kPoints);
  EXPECT_EQ(made.next(), "input_pipeline/job");
  EXPECT_DOUBLE_EQ(*made.share(), kRehearsed / (kRehearsed + 6 * kAdvice)) << "the loader alone has two parts";
  made.measure("input_pipeline/job", "accelerator_utilization", 1);
  EXPECT_EQ(made.next(), "input_pipeline/no-step");
  made.measure("input_pipeline/no-step", "sample_rate", 400);
  EXPECT_EQ(made.next(), "small_file_read/job") << "what a prediction takes";
  EXPECT_EQ(*made.share(), 1) << "all that is left is its";
  EXPECT_NE(made.why("input_pipeline/double-workers").find("gpus"), std::string::npos);
  made.measure("small_file_read/job", "sample_rate", 400);
  EXPECT_EQ(made.next(), "");
}

TEST(PointOrder, IfMoreWorkersHelpStorageAndDecodingNeedNotBeTakenAway) {
  Made made(kPoints);
  made.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  made.measure("input_pipeline/no-step", "sample_rate", 100);
  EXPECT_EQ(made.next(), "input_pipeline/double-workers");
  made.measure("input_pipeline/double-workers", "sample_rate", 190);
  EXPECT_EQ(made.next(), "small_file_read/job");
}

TEST(PointOrder, ElseBothAreTakenAway) {
  Made made(kPoints);
  made.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  made.measure("input_pipeline/no-step", "sample_rate", 100);
  made.measure("input_pipeline/double-workers", "sample_rate", 100);
  EXPECT_EQ(made.next(), "input_pipeline/in-memory");
  made.measure("input_pipeline/in-memory", "sample_rate", 900);
  EXPECT_EQ(made.next(), "input_pipeline/no-decode") << "decoding may take its part, too";
  Made decoded(kPoints);
  decoded.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  decoded.measure("input_pipeline/no-step", "sample_rate", 100);
  decoded.measure("input_pipeline/double-workers", "sample_rate", 100);
  decoded.measure("input_pipeline/no-decode", "sample_rate", 900);
  EXPECT_EQ(decoded.next(), "input_pipeline/in-memory") << "so may reading";
}

TEST(PointOrder, SettingsAreTriedBeforeTheLimitIsShown) {
  std::vector<std::string> ids = kPoints;
  for (const int workers : {1, 3, 4, 5, 6, 7, 8}) ids.push_back("input_pipeline/workers-" + std::to_string(workers));
  Made made(ids);
  made.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  made.measure("input_pipeline/no-step", "sample_rate", 100);
  EXPECT_EQ(made.next(), "input_pipeline/workers-4") << "two workers reach half: 3.6 are the fewest that can be enough";
  EXPECT_DOUBLE_EQ(*made.share(), kTried / (kTries * kTried + 4 * kAdvice)) << "others may have to be tried, too";
  made.measure("input_pipeline/workers-4", "accelerator_utilization", 0.97);
  EXPECT_EQ(made.next(), "input_pipeline/double-workers") << "3 workers cannot be enough";
  EXPECT_DOUBLE_EQ(*made.share(), 0.25) << "nothing more is tried";
}

TEST(PointOrder, MoreBatchesAheadComeFirstWhereTheLoaderIsFastEnough) {
  Made made({"input_pipeline/job", "host_facts", "input_pipeline/no-step", "input_pipeline/prefetch-4",
             "input_pipeline/workers-4"});
  EXPECT_DOUBLE_EQ(*made.share(), kRehearsed / (kRehearsed + 2 * kAdvice + kTries * kTried)) << "facts take no time";
  made.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  made.measure("input_pipeline/no-step", "sample_rate", 400);
  EXPECT_EQ(made.next(), "input_pipeline/prefetch-4");
  EXPECT_DOUBLE_EQ(*made.share(), 1.0 / kTries);
  made.measure("input_pipeline/prefetch-4", "accelerator_utilization", 0.5);
  EXPECT_EQ(made.next(), "input_pipeline/workers-4");
  EXPECT_DOUBLE_EQ(*made.share(), 1.0 / (kTries - 1));
}

TEST(PointOrder, APointWithoutAnEstimateMayTakeTheRest) {
  Made made({"host_facts", "input_pipeline/job"});
  EXPECT_EQ(made.next(), "input_pipeline/job");
  made.measure("input_pipeline/job", "accelerator_utilization", 1);
  EXPECT_EQ(made.next(), "host_facts");
  EXPECT_EQ(*made.share(), 1);
}

TEST(PointOrder, APipelineWithoutSavesComesBeforeTheLoaderAlone) {
  Made made({"small_file_read/job", "input_pipeline/no-step", "input_pipeline/no-checkpoint", "input_pipeline/job"});
  std::string order;
  for (int i = 0; i < 4; ++i) {
    order += made.next() + " ";
    made.measure(made.next(), "sample_rate", 100);
  }
  EXPECT_EQ(order, "input_pipeline/job input_pipeline/no-checkpoint input_pipeline/no-step small_file_read/job ");
}

TEST(PointOrder, ASettingThatGaveNothingIsNotTriedAgain) {
  std::vector<std::string> ids = kPoints;
  ids.push_back("input_pipeline/workers-4");
  Made made(ids);
  made.measure("input_pipeline/job", "accelerator_utilization", 0.5);
  made.measure("input_pipeline/no-step", "sample_rate", 100);
  made.results.back().status = PointStatus::error;
  EXPECT_EQ(made.next(), "input_pipeline/double-workers");
  EXPECT_DOUBLE_EQ(*made.share(), 0.25) << "nothing more is tried";
}

}  // namespace
}  // namespace headrace::engine::point_order_test
