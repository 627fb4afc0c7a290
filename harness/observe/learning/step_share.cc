#include "harness/observe/learning/step_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/observe/sampling/gpus.h"

namespace headrace::observe {
namespace {

constexpr double kLeast = 1e-3;
constexpr double kWithin = 1.96;  // standard deviations, of 95 %

double value(const std::vector<Share>& shares, std::string_view name) {
  const Share* const found = share_named(shares, name);
  return found != nullptr ? found->value : 0;
}

}  // namespace

StepShare find_step_share(const Observation& seen, const OwnTime& own, const LooksAtLead& looks) {
  const double part = 1 - seen.standing_still.value, queued = part * value(seen.training, "queued");
  const double lock = value(seen.training, "interpreter_lock");
  double taking = value(seen.training, "waiting_for_loader") + lock;
  if (seen.roles.in_process) taking += value(seen.training, "reading") + value(seen.training, "making");
  const double fed = std::max(kLeast, part * (1 - taking) - queued);
  // The known cost of taking batches is not part of the step.
  StepShare step{.value = std::max(kLeast, fed - (own.known ? own.value : 0)), .low = 0, .high = 0, .evidence = {}};
  const double missed =
      looks.unsure +
      (looks.count > 0 ? kWithin * std::sqrt(step.value * (1 - std::min(1.0, step.value)) / looks.count) : 1);
  step.low = std::max(0.0, std::min(fed - own.high, step.value) - missed);
  step.high = fed + queued + part * lock + missed;
  step.evidence = fmt::format("{:.1f} % was no waiting for data or a processor{}, and no saving", step.value * 100,
                              own.known ? ", no taking of batches" : "");
  if (const auto gpu = lone_gpu_busy(seen); gpu && gpu->value > step.value) {
    step.evidence += fmt::format("; but its GPU computed {:.1f} % of it, as queued kernels run on", gpu->value * 100);
    step.value = gpu->value;
    step.high = std::max(step.high, gpu->high);
  }
  return step;
}

}  // namespace headrace::observe
