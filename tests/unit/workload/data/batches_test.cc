#include "harness/workload/data/batches.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "harness/base/clock.h"

namespace headrace::batches_test {
namespace {

/// Workers that read batches of `operations`, each operation of one byte.
class Crew {
 public:
  Crew(unsigned workers, unsigned ahead, std::uint64_t operations)
      : operations_(operations), batches_(workers, ahead), held_(workers) {
    for (unsigned i = 0; i < workers; ++i) {
      recorders_.push_back(std::make_unique<Recorder>());
      lanes_.push_back(batches_.lane(i, operations * ahead));
    }
  }
  ~Crew() {
    for (std::thread& t : threads_)
      if (t.joinable()) t.join();
  }

  /// `mine[i]`: how many batches worker i has. Each has `time_ns` from its own start on.
  void start(const std::vector<std::uint64_t>& mine, std::uint64_t time_ns = UINT64_MAX / 2) {
    for (unsigned i = 0; i < mine.size(); ++i)
      threads_.emplace_back([this, i, time_ns, count = mine[i]] { work(i, count, now_ns() + time_ns); });
  }
  /// While set, the worker stays in the batch that it is reading.
  void hold(unsigned worker, bool on) { held_[worker] = on; }
  void join() {
    for (std::thread& t : threads_) t.join();
  }
  void stop() { stop_ = true; }
  std::uint64_t begun(unsigned worker) const { return begun_[worker]; }
  std::uint64_t recorded(unsigned worker) const { return recorders_[worker]->operations(); }
  Recorder& recorder(unsigned worker) { return *recorders_[worker]; }

 private:
  void work(unsigned index, std::uint64_t count, std::uint64_t deadline_ns) {
    Batches::Lane& lane = lanes_[index];
    recorders_[index]->start(deadline_ns, &stop_);
    lane.begin(*recorders_[index]);
    for (std::uint64_t batch = 0; batch < count; ++batch) {
      if (!lane.next()) return recorders_[index]->finish();
      ++begun_[index];
      for (std::uint64_t i = 0; i < operations_; ++i) {
        const std::uint64_t begin = now_ns();
        while (held_[index] && !stop_) std::this_thread::yield();
        lane.op(begin, now_ns(), 1);
        if (!lane.goes_on(now_ns())) {
          lane.leave();
          return recorders_[index]->finish();
        }
      }
      lane.read();
    }
    lane.end();
    recorders_[index]->finish();
  }

  const std::uint64_t operations_;
  Batches batches_;
  std::vector<std::atomic<bool>> held_;
  std::vector<std::unique_ptr<Recorder>> recorders_;
  std::vector<Batches::Lane> lanes_;
  std::array<std::atomic<std::uint64_t>, 8> begun_{};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

TEST(BatchesTest, EverythingIsDeliveredOnce) {
  for (const unsigned workers : {1u, 2u, 3u, 8u}) {
    for (const unsigned ahead : {1u, 2u, 5u}) {
      Crew crew(workers, ahead, 3);
      crew.start(std::vector<std::uint64_t>(workers, 200));
      crew.join();
      for (unsigned i = 0; i < workers; ++i) EXPECT_EQ(crew.recorded(i), 600u) << workers << " " << ahead << " " << i;
    }
  }
}

TEST(BatchesTest, WorkersMayHaveDifferentNumbersOrNone) {
  Crew crew(4, 2, 2);
  crew.start({5, 0, 40, 1});
  crew.join();
  EXPECT_EQ(crew.recorded(0), 10u);
  EXPECT_EQ(crew.recorded(1), 0u);
  EXPECT_EQ(crew.recorded(2), 80u);
  EXPECT_EQ(crew.recorded(3), 2u);
}

TEST(BatchesTest, ASlowBatchHoldsBackTheOthersOnceTheyAreAsFarAheadAsTheyMay) {
  Crew crew(3, 2, 4);
  crew.hold(1, true);
  crew.start({50, 50, 50});
  // Batch 0 of worker 0 is before the held one and is delivered: it may begin a third. Worker 2 waits after two.
  while (crew.begun(0) < 3 || crew.begun(2) < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(crew.begun(0), 3u);
  EXPECT_EQ(crew.begun(1), 1u);
  EXPECT_EQ(crew.begun(2), 2u);
  crew.hold(1, false);
  crew.join();
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(crew.recorded(i), 200u);
}

TEST(BatchesTest, UndeliveredBatchesAreNoThroughput) {
  Crew crew(3, 2, 4);
  crew.hold(0, true);
  crew.start({50, 50, 50});
  while (crew.begun(1) < 2 || crew.begun(2) < 2) std::this_thread::yield();
  crew.stop();
  crew.join();
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(crew.recorded(i), 0u);
  // Nor has it a part in the time.
  EXPECT_EQ(crew.recorder(2).finished_ns(), crew.recorder(2).started_ns() + 1);
}

TEST(BatchesTest, TheFirstBatchIsReadToItsEndHoweverLateItIs) {
  Crew crew(2, 2, 4);
  crew.hold(0, true);
  crew.start({50, 50}, 20'000'000);
  while (crew.begun(0) < 1) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  crew.hold(0, false);
  crew.join();
  EXPECT_EQ(crew.recorded(0), 4u);
  EXPECT_LE(crew.recorded(1), 8u);
}

}  // namespace
}  // namespace headrace::batches_test
