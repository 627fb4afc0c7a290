// What of a trace is done again, and what is not.
#include "harness/observe/replay/plan.h"

#include <gtest/gtest.h>

#include "harness/observe/replay/utilization.h"

namespace headrace::observe::replay::observe_replay_test {
namespace {

using calls::Call;
using calls::Kind;
using calls::LogBuilder;

struct PlanOfTrace : ::testing::Test {
  LogBuilder builder{"strace"};
  std::uint32_t worker = builder.thread(2);
  std::uint32_t a = builder.file("/data/c0/a.bin"), b = builder.file("/data/c1/b.bin");

  void call(double begin_s, double seconds, Kind kind, std::uint32_t file, std::int64_t bytes = 0,
            std::int64_t offset = -1, double processor_s = -1) {
    Call one;
    one.begin_s = begin_s;
    one.seconds = seconds;
    one.thread = worker;
    one.kind = kind;
    one.file = file;
    one.bytes = bytes;
    one.offset = offset;
    one.processor_s = processor_s;
    builder.add(one);
  }
};

TEST_F(PlanOfTrace, KeepsOrderSizesAndPauses) {
  builder.log().waits_known = true;
  call(0, 0.001, Kind::open, a, 3);
  call(0.011, 0.002, Kind::read, a, 1000);
  call(0.023, 0.1, Kind::hand_over, calls::kNoFile);
  call(0.126, 0.001, Kind::read, a, 500);
  call(0.127, 0.001, Kind::close, a);
  call(0.2, 0.001, Kind::read, b, 100, 4096);
  const Plan made = plan(builder.take(), false);
  ASSERT_EQ(made.files.size(), 2u);
  EXPECT_EQ(made.folder, "/data");
  EXPECT_EQ(made.files[0].below, "c0/a.bin");
  EXPECT_EQ(made.files[0].bytes, 1500u);
  EXPECT_EQ(made.files[1].bytes, 4196u);
  ASSERT_EQ(made.threads.size(), 1u);
  const std::vector<Step>& steps = made.threads[0].steps;
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_NEAR(steps[1].think_s, 0.010, 1e-9);
  EXPECT_NEAR(steps[2].think_s, 0.010 + 0.003, 1e-9);  // the wait between is nobody's computing
  EXPECT_TRUE(made.think_known);
  EXPECT_NEAR(made.observed_s, 0.201, 1e-9);
}

TEST_F(PlanOfTrace, TakesComputingFromProcessorTimeWhereWaitsAreNotKnown) {
  call(0, 0.001, Kind::read, a, 10, -1, 0.5);
  call(0.101, 0.001, Kind::read, a, 10, -1, 0.004);   // computed for 4 ms of 100
  call(0.112, 0.001, Kind::read, a, 10, -1, 0.0105);  // the call's own time is in it
  const Plan made = plan(builder.take(), false);
  EXPECT_TRUE(made.think_known);
  EXPECT_NEAR(made.threads.at(0).steps.at(1).think_s, 0.004, 1e-9);
  EXPECT_NEAR(made.threads.at(0).steps.at(2).think_s, 0.010, 1e-9);
}

TEST_F(PlanOfTrace, NamesLeftOutFiles) {
  const std::uint32_t model = builder.file("/out/model.pt"), library = builder.file("/usr/lib/libc.so.6");
  call(0, 0.1, Kind::read, a, 10);
  call(0.2, 0.1, Kind::write, model, 1000);
  call(0.4, 0.1, Kind::map, a);
  call(0.6, 0.1, Kind::read, a, -1);
  call(0.8, 0.1, Kind::read, library, 832);
  const Plan made = plan(builder.take(), false);
  EXPECT_EQ(made.files.size(), 1u);
  EXPECT_EQ(made.threads.at(0).steps.size(), 1u);
  EXPECT_FALSE(made.think_known);
  ASSERT_EQ(made.left_out.size(), 3u);
  EXPECT_EQ(made.left_out.at("writes"), 1u);
}

TEST_F(PlanOfTrace, TakesNothingThatCannotBe) {
  call(0, 0.1, Kind::read, a, 10);
  call(1, 0.1, Kind::read, a, INT64_MAX);  // damaged lines
  call(2, 0.1, Kind::read, b, 10, INT64_MAX);
  call(3, 1e20, Kind::read, b, 10);
  call(1e20, 0.1, Kind::read, b, 10);
  call(4, -1, Kind::read, b, 10);
  call(5, 0.1, Kind::read, a, 10);
  const calls::Log log = builder.take();
  EXPECT_EQ(log.notes, std::vector<std::string>{"5 calls were left out, whose times or sizes cannot be"});
  const Plan made = plan(log, false);
  EXPECT_EQ(made.files.size(), 1u);
  EXPECT_EQ(made.files.at(0).bytes, 20u);
  EXPECT_NEAR(made.observed_s, 5.1, 1e-9);
}

TEST_F(PlanOfTrace, IsEmptyWhereNoDataWasRead) {
  call(0, 0.1, Kind::write, a, 10);
  call(0.2, 0.1, Kind::read, a, 10);  // what it wrote itself
  EXPECT_TRUE(plan(builder.take(), false).threads.empty());
}

TEST_F(PlanOfTrace, WritesSavesAtTheirTimesInThreadsOfTheirOwn) {
  const std::uint32_t part = builder.file("/out/model.part"), model = builder.file("/out/model.pt"),
                      log = builder.file("/out/train.csv");
  call(1, 0.1, Kind::read, a, 10);
  call(2, 0.1, Kind::open, part, 3);
  call(3, 0.1, Kind::write, part, 2 << 20);
  call(4, 0.1, Kind::write, part, 1 << 20);
  call(5, 0.1, Kind::write, log, 100);
  call(6, 0.1, Kind::sync, part);
  call(7, 0.1, Kind::close, part);
  Call rename;
  rename.begin_s = 8;
  rename.thread = worker;
  rename.kind = Kind::change;
  rename.file = part;
  rename.renamed_to = model;
  builder.add(rename);
  call(9, 0.1, Kind::read, a, 10);
  const Plan made = plan(builder.take(), true);
  ASSERT_EQ(made.threads.size(), 2u);
  EXPECT_EQ(made.readers(), 1u);
  EXPECT_EQ(made.threads[0].steps.size(), 2u);
  ASSERT_TRUE(made.threads[1].writes);
  std::vector<Op> ops;
  for (const Step& step : made.threads[1].steps) ops.push_back(step.op);
  EXPECT_EQ(ops, (std::vector<Op>{Op::create, Op::write, Op::write, Op::sync, Op::close, Op::publish}));
  EXPECT_NEAR(made.threads[1].steps[1].at_s, 2, 1e-9);  // after the first access to data
  ASSERT_EQ(made.saves.size(), 1u);
  EXPECT_EQ(made.saves[0].path, "/out/model.pt");
  EXPECT_EQ(made.saves[0].bytes, 3u << 20);
  EXPECT_EQ(made.bytes(), 20u + 2 * (3u << 20));
  EXPECT_EQ(made.left_out.at("writes to files of less than 1 MiB"), 1u);
  EXPECT_EQ(made.left_out.count("syncing"), 0u);
}

TEST(FedAtMost, IsTheShareOfTheLongerOfBoth) {
  EXPECT_DOUBLE_EQ(fed_at_most(0.5, 10, 2), 1);     // it computes for 5 s, whatever the storage
  EXPECT_DOUBLE_EQ(fed_at_most(0.5, 10, 10), 0.5);  // as it was
  EXPECT_DOUBLE_EQ(fed_at_most(0.5, 10, 20), 0.25);
  EXPECT_DOUBLE_EQ(fed_at_most(0, 10, 20), 0);
}

}  // namespace
}  // namespace headrace::observe::replay::observe_replay_test
