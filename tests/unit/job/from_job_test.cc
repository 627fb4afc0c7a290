// Which points follow from a job, with which sizes, and what is reported where they are less than the job's.
#include "harness/engine/plan/from_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/base/config/document.h"
#include "harness/base/units.h"

namespace headrace::from_job_test {
namespace {

using config::Value;

constexpr const char* kFiles = R"(
schema: 1
job: files
cluster: {nodes: 1, gpus_per_node: 4}
step: {time: 200ms, micro_batch: 32}
dataset: {layout: files, samples: 1e6, sample_size: 100kB}
loader: {workers_per_gpu: 2}
)";

job::Job job(const std::string& text) {
  Diagnostics problems;
  const Value root = config::parse_yaml(text, "job.yaml", problems);
  job::Job job = job::parse_job(root, problems);
  problems.throw_if_any();
  return job;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

Means means() {
  Means m;
  m.space = 4'000'000'000;
  m.memory = 8'000'000'000;
  return m;
}

class Followed {
 public:
  Followed(const std::string& text, const Means& means) : made_(points_from_job(job(text), means)) {}

  /// The index of the entry; the number of entries when there is none.
  std::size_t find(std::string_view use, std::string_view label) const {
    std::size_t at = 0;
    for (; at < made_.workloads.items.size(); ++at)
      if (made_.workloads.items[at].find("use")->text == use && text(at, "label") == label) break;
    return at;
  }
  bool has(std::string_view use, std::string_view label) const {
    return find(use, label) < made_.workloads.items.size();
  }
  std::string text(std::size_t at, std::string_view key) const {
    const Value* value = made_.workloads.items.at(at).find(key);
    return value == nullptr ? "" : value->text;
  }
  std::string text(std::string_view use, std::string_view label, std::string_view key) const {
    return text(find(use, label), key);
  }
  double number(std::string_view use, std::string_view label, std::string_view key) const {
    std::string word = text(use, label, key);
    if (word.ends_with("B")) word.pop_back();
    return std::stod(word);
  }
  bool leaves_open(std::string_view use, std::string_view label, std::string_view words) const {
    const auto& all = made_.unproven.at(find(use, label));
    return std::any_of(all.begin(), all.end(), [&](const std::string& one) { return one.find(words) != one.npos; });
  }
  bool remarks(std::string_view words) const {
    return std::any_of(made_.remarks.begin(), made_.remarks.end(),
                       [&](const std::string& one) { return one.find(words) != one.npos; });
  }
  const FromJob& made() const { return made_; }

 private:
  FromJob made_;
};

TEST(FromJob, ReadsFilesOfTheJobsSizeWithTheJobsWorkers) {
  const Followed plan(kFiles, means());
  EXPECT_EQ(plan.text("small_file_read", "job", "workers"), "8");
  EXPECT_EQ(plan.text("small_file_read", "job", "file_size"), "100000B");
  EXPECT_EQ(plan.text("small_file_read", "job", "loader"), "pytorch");
  EXPECT_EQ(plan.text("small_file_read", "job", "batch_size"), "32");
  EXPECT_EQ(plan.text("small_file_read", "job", "cache"), "cold");
  EXPECT_EQ(plan.text("small_file_read", "more-workers", "workers"), "16");
  EXPECT_TRUE(plan.leaves_open("small_file_read", "job", "instead of the job's 1000000"));
  ASSERT_EQ(plan.made().unproven.size(), plan.made().workloads.items.size());
}

TEST(FromJob, SeveralSamplesInAFileMakeItAsMuchLarger) {
  const Followed plan(with(kFiles, "sample_size: 100kB", "sample_size: 100kB, samples_per_file: 5"), means());
  EXPECT_EQ(plan.text("small_file_read", "job", "file_size"), "500000B");
  EXPECT_EQ(plan.text("small_file_read", "job", "samples_per_file"), "5");
}

TEST(FromJob, ASmallerSetHasFewerFilesOfTheSameSizes) {
  Means little = means();
  little.space = 4'000'000;
  const Followed plan(kFiles, little);
  EXPECT_EQ(plan.text("small_file_read", "job", "file_size"), "100000B");
  EXPECT_EQ(plan.number("small_file_read", "job", "files"), 20);  // a half of the room
  EXPECT_EQ(plan.text("small_file_read", "job", "batch_size"), "1");
  EXPECT_TRUE(plan.leaves_open("small_file_read", "job", "Batches of 1 samples instead of 32"));

  little.space = 800'000;
  EXPECT_TRUE(Followed(kFiles, little).leaves_open("small_file_read", "job", "4 files for 8 workers"));
  little.space = 100'000;  // not even one
  const Followed none(kFiles, little);
  EXPECT_FALSE(none.has("small_file_read", "job"));
  EXPECT_TRUE(none.remarks("no file of 100 kB is made"));
  EXPECT_NE(none.made().no_room.at("ingest").find("--max-write 1MB"), std::string::npos)
      << none.made().no_room.at("ingest");
  EXPECT_TRUE(Followed(kFiles, means()).made().no_room.empty());
}

TEST(FromJob, ASmallSetIsTheWholeOneAndLeavesNothingOpen) {
  const Followed plan(with(kFiles, "samples: 1e6", "samples: 640"), means());
  EXPECT_EQ(plan.number("small_file_read", "job", "files"), 640);
  EXPECT_FALSE(plan.leaves_open("small_file_read", "job", "instead of"));
}

TEST(FromJob, TheBudgetChangesTimesAndNotTheData) {
  Means hurry = means();
  hurry.budget_s = 30;
  const Followed quick(kFiles, hurry), slow(kFiles, means());
  EXPECT_EQ(quick.text("small_file_read", "job", "files"), slow.text("small_file_read", "job", "files"));
  const auto seconds = [](const Followed& plan) {
    return parse_quantity(plan.text("small_file_read", "job", "duration"), Dimension::seconds).value;
  };
  EXPECT_LT(seconds(quick), seconds(slow));
}

TEST(FromJob, TheJobsOwnPointsPrecedeAdvice) {
  const Followed plan(kFiles, means());
  bool advice = false;
  for (std::size_t i = 0; i < plan.made().workloads.items.size(); ++i) {
    const std::string label = plan.text(i, "label");
    const bool own = label.starts_with("job") || label.empty();
    EXPECT_FALSE(own && advice) << label << " comes after advice";
    advice = advice || !own;
  }
  EXPECT_TRUE(advice);
}

TEST(FromJob, AnEngineWithAQueueKeepsRequestsInFlight) {
  const Followed plan(with(kFiles, "workers_per_gpu: 2", "workers_per_gpu: 2, kind: in_flight"), means());
  EXPECT_EQ(plan.text("small_file_read", "job", "engine"), "io_uring");
  EXPECT_EQ(plan.text("small_file_read", "job", "batch_size"), "");
  EXPECT_FALSE(plan.has("small_file_read", "in-flight"));  // it is the job's own
}

TEST(FromJob, EachWorkerOfShardsHasOne) {
  const std::string shards = with(kFiles, "layout: files", "layout: shards, samples_per_file: 1000");
  const Followed plan(shards, means());
  EXPECT_EQ(plan.text("shard_stream", "job", "files"), "8");
  EXPECT_EQ(plan.text("shard_stream", "job", "file_size"), "100000000B");
  EXPECT_EQ(plan.text("shard_stream", "job", "sample_size"), "100000B");
  EXPECT_EQ(plan.text("shard_stream", "job", "loader"), "pytorch_iterable");
  EXPECT_FALSE(plan.has("small_file_read", "job"));

  Means little = means();
  little.space = 400'000'000;
  const Followed smaller(shards, little);
  EXPECT_EQ(smaller.number("shard_stream", "job", "file_size"), 25'000'000);
  EXPECT_TRUE(smaller.leaves_open("shard_stream", "job", "8 shards of 25.0 MB instead of 100 MB"));
}

TEST(FromJob, ShardsOfTheUsersAreReadAsTheyAre) {
  Means own = means();
  own.data = "/data/shards";
  const Followed plan(with(kFiles, "layout: files", "layout: shards, samples_per_file: 1000"), own);
  EXPECT_EQ(plan.text("shard_stream", "job", "path"), "/data/shards");
  EXPECT_EQ(plan.text("shard_stream", "job", "files"), "");
}

TEST(FromJob, SavesAreOfTheJobsRanksAndModeAndReportWhereTheyAreSmaller) {
  const std::string saving =
      std::string(kFiles) + "model: {parameters: 1e9}\ncheckpoint: {interval: 30min, stall: 10s, restore: 2min}\n";
  const Followed plan(saving, means());
  EXPECT_EQ(plan.text("checkpoint_write", "job", "ranks"), "4");
  EXPECT_EQ(plan.text("checkpoint_write", "job", "mode"), "sync");
  EXPECT_TRUE(plan.leaves_open("checkpoint_write", "job", "instead of 3.50 GB"));
  EXPECT_TRUE(plan.leaves_open("checkpoint_read", "job", "instead of 3.50 GB"));
  EXPECT_FALSE(Followed(kFiles, means()).has("checkpoint_write", "job"));

  Means little = means();
  little.space = 64'000;
  const Followed none(saving, little);
  EXPECT_FALSE(none.has("checkpoint_write", "job"));
  EXPECT_TRUE(none.remarks("no checkpoint of 4 ranks is saved"));
}

TEST(FromJob, OneNodesShareIsReported) {
  const Followed plan(with(kFiles, "nodes: 1", "nodes: 512"), means());
  EXPECT_TRUE(plan.remarks("the job has 512 nodes, and this run measures the share of one"));
}

}  // namespace
}  // namespace headrace::from_job_test
