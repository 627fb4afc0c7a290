// Does a plan's accesses again, each thread's by a thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/observe/replay/plan.h"
#include "harness/workload/data/checkpoint/folder.h"

namespace headrace::observe::replay {

struct OpTimes {
  std::uint64_t count = 0;
  double seconds = 0;
};

struct Replayed {
  double seconds = 0;  // from the begin to the end of the last thread that reads
  std::array<OpTimes, kOps> ops;
  double think_s = 0, storage_s = 0;  // of all threads that read together
  std::uint64_t read_bytes = 0, written_bytes = 0;
  std::uint64_t short_reads = 0;  // that gave less than was asked for, and no less than the trace's
};

/// `paths`: the present place of each file of the plan. `saves`: where its saves are written, each at its observed
/// time, while others read. nullptr: the plan has none. Asks the kernel to forget the files first. A thread begins when
/// those have ended that had ended before its observed begin; no thread waits for others' batches. Throws RunError: an
/// access failed, or `stop` came true. Where storage does not return then, `let_go` is called, which does not return.
Replayed run(const Plan& plan, const std::vector<std::string>& paths, const checkpoint::Folder* saves,
             const std::function<bool()>& stop, const std::function<void()>& let_go);

}  // namespace headrace::observe::replay
