// What was read and what was taken of it, at moments at which all workers of one generation waited for room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/observe/learning/roles.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

struct AheadPoint {
  double at_s = 0;
  double taken = 0;    // batches, by all that take some, since the begin of the first generation
  double samples = 0;  // read by the generation
};
/// Those at which there was more to read, before and after. From moments that were kept; where none were, from slices of time
/// in which the workers waited nearly all the time: of the first generation alone.
std::vector<AheadPoint> ahead_points(const Recording& recording, const Roles& roles, const Generation& generation,
                                     double calls, double sample_size);

/// What whoever takes batches had read, in batches, when it first paused after the generation began: then one was taken, and the
/// rest was something else; or, where pauses are short, more than one. Nothing: it was not seen pausing.
std::optional<double> taken_at_first_pause(const Recording& recording, const Roles& roles, const Generation& generation,
                                           double calls);

/// When the generation had read all: how much that was, and how much had been taken when whoever takes batches last paused.
struct AheadEnd {
  double taken = 0, samples = 0;
};
std::optional<AheadEnd> ahead_end(const Recording& recording, const Roles& roles, const Generation& generation,
                                  double calls, double sample_size);

}  // namespace headrace::observe
