// The needs of many jobs that differ in a key or two, such as the size of the cluster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/job/needs.h"

namespace headrace::job {

/// One need at one scope over all points, NaN-free: a point without it has no value.
struct SweepColumn {
  std::string id;
  Scope scope;
  std::string unit;
};

struct SweepPoint {
  std::vector<std::string> values;  // of the swept keys, as written
  std::string refused;              // why there can be no such job; "" = there is one
  std::vector<double> needs;        // per column, with margin; negative = this job does not have it
};

struct Sweep {
  std::string job;
  std::vector<std::string> keys;
  std::vector<SweepColumn> columns;
  std::vector<SweepPoint> points;
};

/// `axes` are "key=first..last*factor", "key=first..last+step" or "key=a,b,c"; several are crossed,
/// the last runs fastest. `wanted` are globs of need ids, or id@scope; empty = all. Throws
/// UsageError when an axis is not readable or a wanted glob matches no need. Also when no point
/// is a possible job.
Sweep sweep_job(const config::Value& root, const std::vector<std::string>& axes,
                const std::vector<std::string>& wanted);

/// A line per point, a column per need.
std::string sweep_csv(const Sweep& sweep);
std::string sweep_json(const Sweep& sweep);

/// Indices of columns whose values are not all the same.
std::vector<std::size_t> changing_columns(const Sweep& sweep);

}  // namespace headrace::job
