// Plans: what a configuration becomes, and what is said of one that cannot be.
#include "harness/engine/plan/plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/config/layers.h"
#include "harness/workload/workload.h"
#include "tests/unit/source_dir.h"

namespace headrace::plan_test {
namespace {

/// Reads nothing and measures nothing: what matters here is how it is configured.
class Configured final : public Workload, public ReadsFiles {
 public:
  explicit Configured(Params& p) : depth_(p.count("queue_depth", 1, {.min = 1, .max = 64}, "in flight")) {
    p.choice("engine", "posix", {"posix", "io_uring"}, "how");
  }
  static std::span<const Metric> metrics() {
    static const Metric all[] = {{"read_bandwidth", "B/s", Better::higher, "bytes per second"}};
    return all;
  }
  std::vector<CacheState> cache_states() const override { return {CacheState::cold, CacheState::warm}; }
  void run(Worker&) override {}
  void report(const Repetition&, MetricSink&) const override {}

 private:
  std::uint64_t depth_;
};
const Register<Configured> registered{"plan_test_workload", "for this test"};

class PlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("headrace-plan-test-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }
  Plan plan(const std::string& text) {
    PlanOptions options;
    options.config_file = write("c.yaml", text);
    return make_plan(options);
  }
  std::string problem(const std::string& text) {
    try {
      plan(text);
    } catch (const UsageError& e) {
      std::string what = e.what();
      const std::string prefix = folder_.string() + "/";
      for (std::size_t at; (at = what.find(prefix)) != what.npos;) what.erase(at, prefix.size());
      return what;
    }
    return "";
  }
  std::filesystem::path folder_;
};

TEST_F(PlanTest, SweepsNamePointsByDifferences) {
  const Plan p = plan(
      "schema: 1\nworkloads:\n  - use: plan_test_workload\n    engine: [posix, io_uring]\n    "
      "queue_depth: 4\n    cache: warm\n");
  ASSERT_EQ(p.points.size(), 2u);
  EXPECT_EQ(p.points[0].id, "plan_test_workload/engine:posix");
  EXPECT_EQ(p.points[1].cache, CacheState::warm);
  EXPECT_EQ(std::get<std::uint64_t>(p.points[1].params.at("queue_depth")), 4u);
  EXPECT_EQ(p.points[0].repeat.looks, (std::vector<unsigned>{5, 10, 15}));
}

TEST_F(PlanTest, TheResolvedConfigurationGivesTheSamePlan) {
  const Plan first = plan(
      "schema: 1\ntarget: {path: x}\nneeds: [{id: n, metric: plan_test_workload.read_bandwidth, "
      "at_least: 1GB/s, source: s}]\nworkloads:\n  - use: plan_test_workload\n    queue_depth: "
      "[2, 3]\n    repeat: 3\n    label: both\n");
  const Plan second = plan(config::to_yaml(first.resolved));
  ASSERT_EQ(second.points.size(), 2u);
  EXPECT_EQ(second.points[1].id, "plan_test_workload/both/queue_depth:3");
  EXPECT_EQ(second.points[1].id, first.points[1].id);
  EXPECT_EQ(second.points[1].params, first.points[1].params);
  EXPECT_EQ(second.points[0].repeat.looks, (std::vector<unsigned>{3}));
  ASSERT_EQ(second.declared_needs.size(), 1u);
  EXPECT_DOUBLE_EQ(second.declared_needs[0].value, 1e9);
}

TEST_F(PlanTest, EveryProblemIsReportedAtOnce) {
  const std::string text = problem(
      "schema: 2\nnaem: x\nworkloads:\n  - use: plan_test_worklaod\n  - use: plan_test_workload\n  "
      "  queue_deph: 3\n    cache: bypased\n");
  EXPECT_NE(text.find("c.yaml:1:9: schema: must be 1"), text.npos) << text;
  EXPECT_NE(text.find("c.yaml:2:1: unknown key 'naem'; did you mean 'name'?"), text.npos) << text;
  EXPECT_NE(text.find("did you mean 'plan_test_workload'?"), text.npos) << text;
  EXPECT_NE(text.find("c.yaml:6:5: plan_test_workload: unknown key 'queue_deph'; did you mean 'queue_depth'?"),
            text.npos)
      << text;
  EXPECT_NE(text.find("cache: 'bypased' is not one of: cold, warm"), text.npos) << text;
}

TEST_F(PlanTest, ExtendsMergesAndRefusesACircle) {
  write("base.yaml", "schema: 1\nname: base\nworkloads:\n  - use: plan_test_workload\n");
  EXPECT_EQ(plan("extends: base.yaml\nname: mine\n").name, "mine");
  write("base.yaml", "extends: c.yaml\nschema: 1\n");
  EXPECT_NE(problem("extends: base.yaml\n").find("goes round in a circle"), std::string::npos);
}

TEST_F(PlanTest, PlaceholdersNeedAJob) {
  EXPECT_NE(problem("schema: 1\nworkloads: [{use: plan_test_workload, queue_depth: "
                    "'${job.cluster.nodes}'}]\n")
                .find("--job"),
            std::string::npos);
  EXPECT_EQ(std::get<std::uint64_t>(plan("schema: 1\nworkloads: [{use: plan_test_workload, "
                                         "queue_depth: '${job.cluster.nodes:-7}'}]\n")
                                        .points[0]
                                        .params.at("queue_depth")),
            7u);
}

TEST_F(PlanTest, EveryWorkloadsResolvedParametersCanBeReadAgain) {
  for (const WorkloadInfo& info : Registry::instance().all()) {
    const std::string name(info.name);
    const Plan p = plan("schema: 1\nworkloads: [{use: " + name + "}]\n");
    EXPECT_EQ(problem(config::to_yaml(p.resolved)), "") << name;
  }
}

TEST_F(PlanTest, ARateMayBeTheJobsNeed) {
  PlanOptions options;
  options.job_file = source_dir() + "/configs/jobs/resnet50-imagenet.yaml";
  options.config_file = write("c.yaml", "schema: 1\nworkloads: [{use: small_file_read, rate: need}]\n");
  const Plan p = make_plan(options);
  const double rate = std::get<double>(p.points[0].params.at("rate"));
  double need = 0;
  for (const auto& n : p.needs)
    if (n.id == "ingest.sample_rate" && n.scope == job::Scope::node) need = n.need;
  ASSERT_GT(need, 0);
  EXPECT_GE(rate, need / 0.99);
  // What was resolved asks for the same without the job.
  options.config_file = write("resolved.yaml", config::to_yaml(p.resolved));
  options.job_file.clear();
  EXPECT_DOUBLE_EQ(std::get<double>(make_plan(options).points[0].params.at("rate")), rate);
  EXPECT_NE(problem("schema: 1\nworkloads:\n- use: small_file_read\n  rate: need\n")
                .find("c.yaml:4:9: small_file_read: rate: need: there is no job"),
            std::string::npos);
}

/// Llama 3 70B: tensor 8, pipeline 4, 2048 GPUs: data groups of 64 ranks, every eighth.
TEST_F(PlanTest, AMessageMayBeTheJobsSize) {
  PlanOptions options;
  options.job_file = source_dir() + "/configs/jobs/llama3-70b.yaml";
  options.config_file = write("c.yaml",
                              "schema: 1\nworkloads:\n"
                              "- {use: mpi_all_reduce, message_size: [1MiB, need], group: need}\n"
                              "- {use: mpi_send_recv, label: job, message_size: need}\n"
                              "- {use: mpi_all_to_all, message_size: need, group: need}\n");
  EXPECT_NE(problem("schema: 1\nworkloads:\n- {use: mpi_all_reduce, group: need}\n")
                .find("need goes with message_size: need"),
            std::string::npos);
  // Of a sweep, `group: need` is refused for the sizes that are not the job's.
  EXPECT_THROW(make_plan(options), UsageError);
  options.config_file = write("c.yaml",
                              "schema: 1\nworkloads:\n"
                              "- {use: mpi_all_reduce, message_size: need, group: need}\n"
                              "- {use: mpi_send_recv, label: job, message_size: [1MiB, need]}\n"
                              "- {use: mpi_all_to_all, message_size: need, group: need}\n");
  const Plan p = make_plan(options);
  std::vector<std::string> ids;
  for (const Point& point : p.points) ids.push_back(point.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"mpi_all_reduce/need:gradient_busbw", "mpi_all_reduce/need:tensor_busbw",
                                           "mpi_send_recv/job/message_size:1MiB",
                                           "mpi_send_recv/job/need:pipeline_bandwidth"}));
  const auto count = [&](std::size_t i, const char* key) {
    return std::get<std::uint64_t>(p.points[i].params.at(key));
  };
  EXPECT_EQ(count(0, "message_size"), 25u << 20);
  EXPECT_EQ(count(0, "group_size"), 64u);
  EXPECT_EQ(count(0, "group_stride"), 8u);
  EXPECT_EQ(count(1, "message_size"), 8192u * 8192 * 2);
  EXPECT_EQ(count(1, "group_size"), 8u);
  EXPECT_EQ(count(1, "group_stride"), 1u);
  EXPECT_EQ(count(3, "group_size"), 0u);  // only the size was asked for
  // What was resolved is the same without the job.
  options.config_file = write("resolved.yaml", config::to_yaml(p.resolved));
  options.job_file.clear();
  const Plan again = make_plan(options);
  ASSERT_EQ(again.points.size(), p.points.size());
  EXPECT_EQ(again.points[0].params, p.points[0].params);
  EXPECT_EQ(again.points[0].id, p.points[0].id);
}

TEST_F(PlanTest, WithoutAJobNoPointFollowsIt) {
  const Plan p = plan(
      "schema: 1\nworkloads:\n- {use: mpi_all_reduce, message_size: need, group: need}\n"
      "- {use: mpi_all_reduce, message_size: 1MiB}\n");
  ASSERT_EQ(p.points.size(), 1u);
  EXPECT_NE(problem("schema: 1\nworkloads: [{use: mpi_all_reduce, message_size: need}]\n")
                .find("left out without one: --job FILE"),
            std::string::npos);
}

}  // namespace
}  // namespace headrace::plan_test
