// What makes a measured point report on a job, and what only of another.
#include "harness/job/way.h"

#include <gtest/gtest.h>

namespace headrace::job::way_test {
namespace {

/// ResNet-like: 16 blocking workers, 130 kB in a file.
Way files() {
  return {.layout = "files",
          .loader = "pytorch",
          .read_profile = "whole",
          .file_size = 130e3,
          .sample_size = 130e3,
          .request_size = 1 << 20,
          .workers = 16};
}

Way shards() {
  Way way = files();
  way.layout = "shards";
  way.read_profile = "wds";
  way.file_size = 130e6;
  return way;
}

Settings as_job() {
  return {{"file_size", "130000"},   {"workers", "16"},         {"engine", "posix"}, {"loader", "pytorch"},
          {"block_size", "1048576"}, {"read_profile", "whole"}, {"queue_depth", "1"}};
}

Likeness like(const Way& way, const Settings& settings, const char* workload = "small_file_read") {
  return likeness(way, workload, "sample_rate", settings);
}

Settings with(Settings settings, const char* key, const char* value) {
  settings[key] = value;
  return settings;
}

TEST(Way, APointThatWorksLikeTheJob) {
  const Likeness same = like(files(), as_job());
  EXPECT_TRUE(same.answers);
  EXPECT_EQ(same.distance, 0);
  EXPECT_TRUE(same.differs.empty());
  EXPECT_FALSE(same.more || same.less);
  EXPECT_EQ(describe_method(files(), "small_file_read", as_job()), "16 blocking workers, whole files");
}

TEST(Way, AQueueIsMoreThanALoaderThatWaits) {
  const Settings queue = with(with(with(as_job(), "engine", "io_uring"), "queue_depth", "64"), "loader", "none");
  EXPECT_TRUE(like(files(), queue).more);
  Way flying = files();
  flying.loader = "in_flight";
  EXPECT_FALSE(like(flying, queue).more);
  EXPECT_TRUE(like(flying, queue).differs.empty());
  EXPECT_TRUE(like(flying, as_job()).less);
}

TEST(Way, WorkersAboveAndBelow) {
  EXPECT_TRUE(like(files(), with(as_job(), "workers", "64")).more);
  EXPECT_TRUE(like(files(), with(as_job(), "workers", "4")).less);
  EXPECT_TRUE(like(files(), with(as_job(), "workers", "20")).differs.empty());
}

TEST(Way, OtherSizesAnswerNothing) {
  EXPECT_FALSE(like(files(), with(as_job(), "file_size", "4000000")).answers);
  EXPECT_FALSE(like(shards(), {{"sample_size", "4000000"}}, "shard_stream").answers);
  EXPECT_TRUE(like(shards(), {{"sample_size", "130000"}}, "shard_stream").answers);
  EXPECT_FALSE(like(shards(), {{"block_size", "4096"}}, "random_read").answers);
}

TEST(Way, ReadersWithoutBatchesAreNearButNotNearest) {
  const Likeness free = like(files(), with(as_job(), "loader", "none"));
  EXPECT_GT(free.distance, 0);
  EXPECT_TRUE(free.differs.empty());
  const Likeness other = like(files(), with(as_job(), "loader", "tfdata"));
  EXPECT_GT(other.distance, free.distance);
  EXPECT_FALSE(other.differs.empty());
  // Workers of shards have shards of their own, whichever loader starts them.
  EXPECT_EQ(like(shards(), {{"loader", "pytorch_iterable"}, {"read_profile", "wds"}}, "shard_stream").distance, 0);
}

TEST(Way, OtherCallsAreReported) {
  EXPECT_FALSE(like(files(), with(as_job(), "read_profile", "pil")).differs.empty());
  // What random reads stand for in a data set of tar shards has no profile of its own.
  EXPECT_TRUE(like(shards(), {{"read_profile", "ranged"}, {"block_size", "1048576"}}, "random_read").differs.empty());
}

TEST(Way, RunsThatRecordedNoLoaderAreTakenAsTheyAre) {
  Settings old = as_job();
  old.erase("loader");
  old.erase("read_profile");
  EXPECT_EQ(like(files(), old).distance, 0);
}

TEST(Way, TheLowerOfEquallyNearPointsReports) {
  Likeness near, far;
  near.has_way = far.has_way = true;
  far.distance = 1;
  EXPECT_TRUE(says_more(near, 1, far, 100));
  EXPECT_FALSE(says_more(far, 100, near, 1));
  EXPECT_TRUE(says_more(near, 1, near, 100));
  EXPECT_TRUE(says_more(Likeness{}, 100, Likeness{}, 1));  // what neither reads nor saves
}

TEST(Way, AMissingMeasurementIsReported) {
  EXPECT_EQ(settings_of(files(), "small_file_read"), "file_size: 130000B, workers: 16");
  EXPECT_EQ(settings_of(shards(), "shard_stream"), "sample_size: 130000B, block_size: 1048576B, workers: 16");
}

}  // namespace
}  // namespace headrace::job::way_test
