#include "harness/engine/worker_threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <memory>
#include <vector>

#include "harness/engine/limits.h"
#include "harness/workload/workload.h"

namespace headrace::worker_threads_test {
namespace {

int allowed_processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

/// Reports of each of its threads on how many processors it may run.
class Looking final : public Workload {
 public:
  unsigned workers() const override { return 3; }
  void run(Worker& worker) override { seen[worker.index] = allowed_processors(); }
  void report(const Repetition&, MetricSink&) const override {}

  std::vector<int> seen = std::vector<int>(3);
};

TEST(WorkerThreadsTest, EachStaysOnAProcessorIfPinned) {
  for (const bool stay : {true, false}) {
    const auto workload = std::make_shared<Looking>();
    const engine::PhaseEnd end = engine::run_phase({.workload = workload, .pinned = stay}, {}, {});
    ASSERT_EQ(end.kind, engine::PhaseEnd::Kind::done) << end.error;
    EXPECT_EQ(workload->seen, std::vector<int>(3, stay ? 1 : allowed_processors()));
  }
}

}  // namespace
}  // namespace headrace::worker_threads_test
