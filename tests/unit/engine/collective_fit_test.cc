#include "harness/engine/explain/collective_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/backends/collective.h"
#include "tests/unit/source_dir.h"

namespace headrace::collective_fit_test {
namespace {

TEST(CollectiveFit, FindsTheParametersOfTheTimes) {
  std::vector<std::pair<double, double>> times;
  for (const double size : {8.0, 1024.0, 1e6, 25e6, 64e6}) times.emplace_back(size, 20e-6 + size / 5e9);
  const auto fit = fit_collective(times);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->fixed_s.value, 20e-6, 1e-9);
  EXPECT_NEAR(fit->bytes_per_s.value, 5e9, 1e4);
  EXPECT_NEAR(fit->worst_error, 0, 1e-9);
  EXPECT_NEAR(fit->bytes_per_s.low, 5e9, 1e5);  // what fits exactly has no spread
  EXPECT_NEAR(fit->seconds(1e6), 220e-6, 1e-9);
}

/// Checked by hand: x = {0, 1, 2}, t = {1, 2.2, 2.8} s; weights 1, 1/4.84, 1/7.84.
TEST(CollectiveFit, ReportsBetweenWhichTheNumbersLie) {
  const auto fit = fit_collective({{0, 1}, {1, 2.2}, {2, 2.8}});
  ASSERT_TRUE(fit);
  const double w1 = 1 / 4.84, w2 = 1 / 7.84, w = 1 + w1 + w2, wx = w1 + 2 * w2, wxx = w1 + 4 * w2,
               wy = 1 + w1 * 2.2 + w2 * 2.8, wxy = w1 * 2.2 + w2 * 5.6;
  const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx), fixed = (wy - slope * wx) / w;
  double squares = 0;
  for (const auto& [x, t] : {std::pair{0.0, 1.0}, {1.0, 2.2}, {2.0, 2.8}})
    squares += std::pow((t - fixed - slope * x) / t, 2);
  const double t_1 = 12.7062047, spread = t_1 * std::sqrt(squares * wxx / (w * wxx - wx * wx));
  EXPECT_NEAR(fit->fixed_s.value, fixed, 1e-12);
  EXPECT_NEAR(*fit->fixed_s.high, fixed + spread, 1e-6);
  EXPECT_NEAR(fit->fixed_s.low, std::max(0.0, fixed - spread), 1e-6);
  EXPECT_FALSE(fit->bytes_per_s.high);  // three sizes that scatter set no upper bound
  EXPECT_LT(fit->bytes_per_s.low, fit->bytes_per_s.value);
}

/// F3's worked example: 14 GB, 64 ranks, 5 us a hop, 50 GB/s: 551.9 ms.
TEST(CollectiveFit, AnAllReducesModelIsFormulaF3) {
  const unsigned n = 64;
  const auto time = [](double size) { return 2 * 63 * 5e-6 + 2 * 63 / 64.0 * size / 50e9; };
  EXPECT_NEAR(time(14e9), 0.5519, 5e-5);
  const LinkModel model =
      link_model(*fit_collective({{1e3, time(1e3)}, {1e6, time(1e6)}, {14e9, time(14e9)}}), Collective::all_reduce, n);
  EXPECT_NEAR(model.alpha_s.value, 5e-6, 1e-10);
  EXPECT_NEAR(model.bytes_per_s.value, 50e9, 1e5);
  EXPECT_NEAR(ring_time(model, n, 14e9), time(14e9), 1e-6);
}

TEST(CollectiveFit, OtherOperationsTakeTheirShareOfHops) {
  const CollectiveFit fit{{15e-6, 15e-6, 15e-6}, {8e9, 8e9, 8e9}, 0};
  const LinkModel gather = link_model(fit, Collective::all_gather, 4);
  EXPECT_NEAR(gather.alpha_s.value, 5e-6, 1e-12);
  EXPECT_NEAR(gather.bytes_per_s.value, 6e9, 1);
  EXPECT_NEAR(ring_time(gather, 4, 8e6), 15e-6 + 1e-3, 1e-9);
  const LinkModel next = link_model(fit, Collective::send_recv, 4);
  EXPECT_NEAR(ring_time(next, 64, 8e6), 15e-6 + 1e-3, 1e-9);  // whatever the number of ranks
}

TEST(CollectiveFit, RefusesUnfittableTimes) {
  EXPECT_FALSE(fit_collective({{8, 1e-6}, {1e6, 1e-3}}));
  EXPECT_FALSE(fit_collective({{8, 1e-3}, {1e3, 1e-4}, {1e6, 1e-5}}));
  EXPECT_FALSE(fit_collective({{8, 0}, {1e3, 1e-4}, {1e6, 1e-3}}));
}

TEST(CollectiveFit, NeverFindsNegativeLatency) {
  const auto fit = fit_collective({{1e3, 1e-7}, {1e6, 2e-4}, {1e8, 3e-2}});
  ASSERT_TRUE(fit);
  EXPECT_GE(fit->fixed_s.value, 0);
}

LinkModel links(double alpha_s, double bytes_per_s, Collective what = Collective::all_reduce) {
  return {what, 8, {alpha_s, alpha_s, alpha_s}, {bytes_per_s, bytes_per_s, bytes_per_s}};
}

job::Need need_of(const job::Job& job, std::string_view id) {
  for (const job::Need& need : job::derive_needs(job))
    if (need.id == id) return need;
  ADD_FAILURE() << id;
  return {};
}

job::Job job(const std::string& name, const std::vector<std::string>& more = {}) {
  return job::load_job(source_dir() + "/configs/jobs/" + name + ".yaml", more);
}

/// 7e9 parameters on 64 data-parallel GPUs: 14 GB of gradients in 535 buckets.
TEST(CollectiveFit, StepOfAJobInBuckets) {
  const auto gradients =
      need_of(job("gpt-7b-512gpu", {"cluster.nodes=8", "cluster.gpus_per_node=8", "model.parameters=7e9",
                                    "parallelism.sharding=none", "step.time=1s"}),
              "network.gradient_busbw");
  const auto p = predict(links(5e-6, 50e9), gradients);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->ranks, 64);
  EXPECT_EQ(p->message_bytes, 25 << 20);
  EXPECT_EQ(p->calls, std::ceil(14e9 / (25 << 20)));
  const double each = 2 * 63 * 5e-6 + 2 * 63 / 64.0 * (25 << 20) / 50e9;
  EXPECT_NEAR(p->ring_s, each, 1e-12);
  EXPECT_NEAR(p->step_s, p->calls * each, 1e-9);
  EXPECT_NEAR(p->hidden_s, 0.9 * 2 / 3, 1e-9);
  EXPECT_NEAR(p->exposed_s, p->step_s - p->hidden_s, 1e-12);
  EXPECT_NEAR(*p->tree_s, 2 * 6 * 5e-6 + 2.0 * (25 << 20) / 50e9, 1e-12);  // F4
  EXPECT_NEAR(*p->crossover_bytes, 64 * (63 - 6) * 5e-6 * 50e9, 1);        // F5
  EXPECT_NEAR(p->busbw, 2 * 63 / 64.0 * (25 << 20) / each, 1);
  EXPECT_EQ(p->busbw_required, gradients.required);
  EXPECT_EQ(predict(links(1e-7, 400e9), gradients)->exposed_s, 0);  // all of it is hidden
}

TEST(CollectiveFit, PipelineStagesHideBehindEachMicroBatch) {
  const job::Job llama = job("llama3-70b");
  const auto p = predict(links(2e-6, 40e9, Collective::send_recv), need_of(llama, "network.pipeline_bandwidth"));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->calls, 16);
  EXPECT_FALSE(p->tree_s);
  EXPECT_EQ(p->message_bytes, 8192.0 * 8192 * 2);
  EXPECT_EQ(p->exposed_s, 0);
  EXPECT_NEAR(p->step_s, 16 * (2e-6 + 8192.0 * 8192 * 2 / 40e9), 1e-9);
}

/// F19 and F20 with measured rates, F22 with the measured share of the line rate.
TEST(CollectiveFit, TwoKindsOfLinks) {
  const job::Job llama = job("llama3-70b", {"parallelism.tensor=1", "parallelism.tensor_time=0.1"});
  const auto needs = job::derive_needs(llama);
  const auto p = predict_fabric(links(1e-6, 300e9), links(5e-6, 40e9), llama, needs);
  ASSERT_TRUE(p);
  const double s = 25 << 20, nodes = 64;
  EXPECT_NEAR(p->two_level_s, 2 * s * 7 / (8 * 300e9) + 2 * (s / 8) * (nodes - 1) / (nodes * 40e9), 1e-9);
  EXPECT_NEAR(p->multirail_s, 2 * 511 / 512.0 * s / 300e9, 1e-9);
  EXPECT_NEAR(*p->nic_efficiency, 0.8, 1e-12);
  EXPECT_GE(*p->nics, 1);
  job::Job alone = job("llama3-8b", {"cluster.nodes=1"});
  EXPECT_FALSE(predict_fabric(links(1e-6, 300e9), links(5e-6, 40e9), alone, job::derive_needs(alone)));
}

}  // namespace
}  // namespace headrace::collective_fit_test
