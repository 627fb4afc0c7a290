#include "harness/engine/explain/measured_point.h"

#include <algorithm>

namespace headrace::engine {

unsigned clean(std::span<const Repetition> repetitions) {
  return static_cast<unsigned>(std::ranges::count_if(
      repetitions, [](const Repetition& r) { return r.status == RepetitionStatus::ok && !r.disturbance.disturbed; }));
}

unsigned counted(std::span<const Repetition> repetitions) {
  return static_cast<unsigned>(std::ranges::count_if(repetitions, &Repetition::counted));
}

void count_up_to(unsigned target, std::span<Repetition> repetitions) {
  unsigned room = target - std::min(target, clean(repetitions));
  for (Repetition& r : repetitions) {
    r.counted = r.status == RepetitionStatus::ok;
    if (!r.counted || !r.disturbance.disturbed) continue;
    r.counted = room > 0;
    if (room > 0) --room;
  }
}

}  // namespace headrace::engine
