// How a measured point differs from what the job plans.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/requirements/job.h"
#include "harness/results/run_file.h"

namespace headrace::sizing {

struct Likeness {
  /// It moved what the job moves: files of the job's size, or reads of it. A point of another size
  /// says nothing of the job.
  bool answers = true;
  double distance = 0;               // of settings; 0: as planned
  std::vector<std::string> differs;  // "32 reading workers per node, the job has 64"
  /// More, or less, worked at once than the job has: the former cannot show that the job is fed,
  /// the latter not that it starves.
  bool more = false, less = false;
};

Likeness likeness(const requirements::Job& job, const results::StoredPoint& point);

/// Reading workers of a node, as the job plans; 0: it does not say.
double planned_workers(const requirements::Job& job);

/// A parameter of the point; "" and 0 when it has none.
std::string parameter(const results::StoredPoint& point, std::string_view key);
double number(const results::StoredPoint& point, std::string_view key);

}  // namespace headrace::sizing
