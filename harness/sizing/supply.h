// What storage and host gave, by how many clients used them at once; and what more clients may get.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/run_file.h"

namespace headrace::sizing {

/// Whether a number was measured as it would be used, computed by a formula from measured parts, or
/// continued past what was measured.
enum class Basis { measured, modelled, extrapolated };
std::string_view to_string(Basis basis);

/// A metric of one point, measured by so many clients at once (rates add).
struct Measurement {
  unsigned clients = 1;
  double median = 0, low = 0, high = 0;
  bool is_range = false;  // fewer than 6 repetitions: low and high are the range
  std::size_t repetitions = 0;
  const results::StoredRun* run = nullptr;      // the first client's
  const results::StoredPoint* point = nullptr;  // in that run
  std::string metric;                           // "read_bandwidth"

  double per_client() const { return median / clients; }
  /// "run/point.metric".
  std::string name() const;
};

/// Runs of different nodes with the same configuration that overlap in time are one session: their
/// clients shared the storage.
using Session = std::vector<const results::StoredRun*>;
std::vector<Session> sessions_of(std::span<const results::StoredRun> runs);

/// Every point of every session that gives one of `metrics` ("small_file_read.read_bandwidth", in
/// order of preference, the first that any run has) in the cache state asked for ("" = any), with
/// that state proven.
std::vector<Measurement> measurements(std::span<const Session> sessions,
                                      std::span<const std::string> metrics,
                                      const std::string& cache);

/// Supply over the number of clients: measured counts, the best of each, and a continuation.
class Curve {
 public:
  struct Value {
    double median = 0, low = 0, high = 0;
    bool extrapolated = false;
  };
  /// `measured` are of one point, at least one; `per_node`: each client has its own, nothing is
  /// shared (memory), so that more of them only multiply.
  Curve(std::vector<Measurement> measured, bool per_node);

  /// Between measured counts along a straight line; below the smallest, in proportion; above the
  /// largest, G6: each further client as much as each of the largest count got, unless the supply
  /// had stopped growing (a tenth of the slope or less): then no more.
  Value at(double clients) const;
  unsigned measured_to() const { return measured_.rbegin()->first; }
  const Measurement& largest() const { return measured_.rbegin()->second; }
  bool saturated() const { return saturated_; }
  bool per_node() const { return per_node_; }

 private:
  std::map<unsigned, Measurement> measured_;
  bool saturated_ = false, per_node_ = false;
};

}  // namespace headrace::sizing
