// One repetition of one point: cache state, phases, proof, metrics, errors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/engine/engine.h"
#include "harness/engine/phase_result.h"
#include "harness/engine/rank_sync.h"
#include "harness/machine/block_device.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/client_counters.h"
#include "harness/machine/mount.h"
#include "harness/workload/data/file_survey.h"
#include "harness/workload/registry.h"

namespace headrace {
class ObjectStore;
}

namespace headrace::engine {

/// Runs repetitions of one prepared point. Keeps everything that does not change between them.
class RepetitionRunner {
 public:
  RepetitionRunner(const Plan& plan, const Point& point, Node& node, RunObserver& observer, const EngineLimits& limits);

  /// Never throws: a failure becomes the repetition's status and error.
  Repetition run(unsigned index, unsigned look);
  /// A phase hung: nothing of this point may be touched any more.
  bool hung() const { return hung_; }
  /// Remarks for the reader on the repetition that has just run; "" = none.
  const std::string& note() const { return note_; }
  /// The metrics of this point, in the order of reports.
  const std::vector<MetricInfo>& catalogue() const { return catalogue_; }

 private:
  class Attempt;
  /// The control probe; of a moment ago, where it was taken then.
  double probe();
  double probe_after(double before);
  /// The counters of the files' network file system, if it has any that count.
  std::optional<system::ClientCounters> client_counters() const;
  const Plan& plan_;
  const Point& point_;
  Node& node_;
  RunObserver& observer_;
  EngineLimits limits_;
  RankSync rank_sync_;
  std::vector<MetricInfo> catalogue_;
  std::vector<std::string> parts_;
  std::optional<system::BlockDevice> device_;
  std::optional<system::Mount> mount_;  // of the files
  ObjectStore* store_ = nullptr;        // of objects
  /// The survey of the files, once looked at. Shared with a thread that may hang.
  std::shared_ptr<std::optional<FileSurvey>> survey_ = std::make_shared<std::optional<FileSurvey>>();
  system::IoLimits io_limits_;            // of this process's control group, for device_
  std::map<std::string, Starts> starts_;  // of each phase
  std::string note_;
  bool hung_ = false;
  double probe_ = -1;
  std::uint64_t probed_ns_ = 0;
};

}  // namespace headrace::engine
