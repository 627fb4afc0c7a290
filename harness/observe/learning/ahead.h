// Batches that are ready. While workers wait for room, the read bytes are the taken and the ready ones. So each taken
// batch lets them read one more. When there is nothing more to read, the ready ones are still taken.
#pragma once

#include <optional>
#include <string>

#include "harness/observe/learning/roles.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

struct Ahead {
  double batch = 0, batch_error = 0;   // samples in one; twice the standard error
  std::optional<double> each;          // batches that each worker makes ahead; nothing: no one number
  double each_low = 0, each_high = 0;  // high: infinite where nothing is known of it, and `why`
  unsigned moments = 0;                // at which workers waited, that this is from
  unsigned workers = 0;
  bool to_the_end = false;  // the bytes taken after the last read agree
};

/// `calls`: read() calls that one batch is taken by. `spread`: of the samples' sizes, standard deviation over mean. Nothing, and
/// `why`: workers were there before the watching began, or were too seldom found waiting for room.
std::optional<Ahead> find_ahead(const Recording& recording, const Roles& roles, double calls, double sample_size,
                                double spread, std::string& why);

}  // namespace headrace::observe
