// Batches that lie ready: while workers wait for room, what was read is what was taken and what lies ready, so that each
// batch that is taken lets them read one more.
#pragma once

#include <optional>
#include <string>

#include "harness/observe/recording.h"
#include "harness/observe/roles.h"

namespace headrace::observe {

struct Ahead {
  double batch = 0, batch_error = 0;  // samples in one; twice the standard error
  std::optional<double> each;         // batches that each worker makes ahead; nothing: no one number
  double each_low = 0, each_high = 0;
  unsigned parts = 0;  // of the time, that this is from
  unsigned workers = 0;
};

/// `calls`: read() calls that one batch is taken by. `spread`: of the samples' sizes, standard deviation over mean. Nothing, and
/// `why`: workers were there before the watching began, or were too seldom found waiting for room.
std::optional<Ahead> find_ahead(const Recording& recording, const Roles& roles, double calls, double sample_size,
                                double spread, std::string& why);

}  // namespace headrace::observe
