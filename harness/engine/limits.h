// How patient the engine is. Tests make it less so.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace headrace {

struct RunResult;

/// Of all workers since the last call of RunObserver::live().
struct LiveRate {
  double bytes_per_s = 0, operations_per_s = 0;
};

struct EngineLimits {
  double stall_s = 300;         // no operation of any worker for this time: storage or device does not answer
  double grace_s = 30;          // workers that were asked to stop must end within this time
  double live_s = 0.25;         // between two calls of RunObserver::live()
  double confirm_rest_s = 5;    // before a missed need is measured once more
  bool mind_neighbours = true;  // mark repetitions that something else disturbed
  bool touch_memory = true;     // that the page cache will grow into, on a virtual machine
  unsigned retakes = 2;         // of disturbed or failed repetitions, per look
  /// No repetition of a point begins after this time [s]; none: as in the plan.
  std::optional<double> budget_s{};
  /// Which other process of the run is gone, or "": then nothing that waits for it will end. Any thread.
  std::function<std::string()> lost{};
  /// Called after each point but the last; `so_far` makes the result of a run that is killed now, by SIGKILL. Copies,
  /// so call it only as often as the stored result is worth.
  std::function<void(const std::function<RunResult()>& so_far)> after_point{};
  /// Not "": why no figure of this program may meet a need: "this headrace is a Debug build".
  std::string never_passes{};
  double lost_grace_s = 1;  // workers must end within this time then: the launcher of this process may end all
};

}  // namespace headrace
