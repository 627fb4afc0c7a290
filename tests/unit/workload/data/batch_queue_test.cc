#include "harness/workload/data/pipeline/batch_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace headrace::pipeline::batch_queue_test {
namespace {

using Taken = BatchQueue::Taken;

/// What a take gives: the moment at which the batch was ready, or -1 not yet, -2 over.
std::int64_t take(BatchQueue& queue) {
  std::uint64_t at = 0;
  switch (queue.take(at)) {
    case Taken::batch:
      return static_cast<std::int64_t>(at);
    case Taken::not_yet:
      return -1;
    case Taken::over:
      return -2;
  }
  return -3;
}

void give(BatchQueue& queue, unsigned worker, std::uint64_t at_ns) {
  ASSERT_TRUE(queue.may_begin(worker));
  queue.begin(worker);
  queue.ready(worker, at_ns);
}

TEST(BatchQueueTest, ASlowBatchHoldsBackThoseThatAreReady) {
  Bell gpu;
  BatchQueue queue({.workers = 3, .ahead = 2}, gpu);
  give(queue, 1, 10);
  give(queue, 2, 11);
  EXPECT_EQ(take(queue), -1);
  EXPECT_EQ(queue.waiting(), 2u);
  give(queue, 0, 20);
  EXPECT_EQ(take(queue), 20);
  EXPECT_EQ(take(queue), 10);
  EXPECT_EQ(take(queue), 11);
  EXPECT_EQ(take(queue), -1);
}

TEST(BatchQueueTest, WithoutAnOrderTheFirstThatIsReadyComes) {
  Bell gpu;
  BatchQueue queue({.workers = 3, .ahead = 2, .order = Order::as_ready}, gpu);
  EXPECT_EQ(take(queue), -1);
  give(queue, 2, 11);
  give(queue, 1, 10);
  EXPECT_EQ(take(queue), 10);
  EXPECT_EQ(take(queue), 11);
  for (const unsigned worker : {0u, 1u, 2u}) queue.end(worker);
  EXPECT_EQ(take(queue), -2);
}

TEST(BatchQueueTest, AWorkerReadsNoFurtherAheadThanItMay) {
  Bell gpu;
  BatchQueue queue({.workers = 2, .ahead = 2}, gpu);
  EXPECT_EQ(queue.capacity(), 4u);
  give(queue, 0, 1);
  give(queue, 0, 2);
  EXPECT_FALSE(queue.may_begin(0));
  EXPECT_TRUE(queue.may_begin(1));
  EXPECT_EQ(take(queue), 1);
  EXPECT_TRUE(queue.may_begin(0)) << "the batch that the GPU has is no longer ahead";
  queue.begin(0);
  EXPECT_FALSE(queue.may_begin(0)) << "one that is being read is ahead, too";
}

TEST(BatchQueueTest, WorkersWithoutMoreArePassedOver) {
  Bell gpu;
  BatchQueue queue({.workers = 3, .ahead = 2}, gpu);
  give(queue, 0, 1);
  give(queue, 2, 3);
  queue.end(1);
  EXPECT_EQ(take(queue), 1);
  EXPECT_EQ(take(queue), 3);
  give(queue, 2, 4);
  queue.end(0);
  queue.end(2);
  EXPECT_EQ(take(queue), 4);
  EXPECT_EQ(take(queue), -2);
}

TEST(BatchQueueTest, ABatchOfPiecesIsReadyWithItsLastOne) {
  Bell gpu;
  BatchQueue queue({.workers = 2, .ahead = 2, .pieces = 3}, gpu);
  give(queue, 0, 5);
  give(queue, 1, 9);
  EXPECT_EQ(take(queue), -1) << "two of three";
  EXPECT_TRUE(queue.may_begin(0)) << "what is put together is taken from the workers";
  give(queue, 1, 10);
  EXPECT_EQ(take(queue), -1) << "the third is worker 0's";
  give(queue, 0, 7);
  EXPECT_EQ(take(queue), 9) << "the slowest piece makes it ready";
  give(queue, 0, 11);
  queue.end(0);
  queue.end(1);
  EXPECT_EQ(take(queue), -2) << "two pieces are no batch";
}

TEST(BatchQueueTest, NoWorkerSleepsThroughItsSignal) {
  constexpr std::uint64_t kBatches = 2000, kForever = 100'000'000'000;
  Bell gpu;
  BatchQueue queue({.workers = 1, .ahead = 1}, gpu);
  std::thread worker([&] {
    for (std::uint64_t i = 0; i < kBatches; ++i) {
      while (!queue.may_begin(0)) queue.wait(0, kForever);
      queue.begin(0);
      queue.ready(0, i + 1);
    }
    queue.end(0);
  });
  std::int64_t last = 0;
  for (;;) {
    const std::uint32_t looked = gpu.look();
    const std::int64_t got = take(queue);
    if (got == -2) break;
    if (got == -1) {
      gpu.wait(looked, kForever);
      continue;
    }
    gpu.leave();
    ASSERT_EQ(got, ++last);
  }
  worker.join();
  EXPECT_EQ(last, static_cast<std::int64_t>(kBatches));
}

}  // namespace
}  // namespace headrace::pipeline::batch_queue_test
