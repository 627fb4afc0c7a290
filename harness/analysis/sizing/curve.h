// Supply over the number of clients: at measured counts, between and beyond them.
#pragma once

#include <map>
#include <vector>

#include "harness/analysis/simulate/supply.h"
#include "harness/analysis/sizing/supply.h"

namespace headrace::sizing {

class Curve {
 public:
  struct Value {
    double mean = 0, low = 0, high = 0;
    Basis basis = Basis::measured;
    /// The measured counts that it is built on: the same one twice, but between two counts.
    const Measurement *from = nullptr, *and_from = nullptr;
  };
  /// `measured` are of one point, at least one. `per_node`: each client has its own, nothing is shared (memory), so
  /// that more clients only multiply. `local`: the measuring nodes had their own copy of the shared part.
  Curve(std::vector<Measurement> measured, bool per_node, bool local = false);

  /// The clients out of `wanted` that the measurements cover. All of them where each client has its own, or two counts
  /// show the growth. Else no more than were measured. One count shows no growth, nor do nodes that each read storage of
  /// their own.
  double reach(double wanted) const;
  /// Between measured counts along a straight line. Below the smallest, in proportion. At best as much as those gave
  /// together, for fewer clients may well get more each. Above the largest, as a simulation expects it: the median and
  /// 90 % of its seeds. Where each client has its own, in proportion. `clients` within reach().
  Value at(double clients) const;
  /// The measured counts, as a simulation continues them.
  simulate::Supply supply() const;
  unsigned measured_to() const { return measured_.rbegin()->first; }
  /// By the number of clients.
  const std::map<unsigned, Measurement>& counts() const { return measured_; }
  const Measurement& largest() const { return measured_.rbegin()->second; }
  bool saturated() const { return saturated_; }
  bool per_node() const { return per_node_; }

 private:
  std::map<unsigned, Measurement> measured_;
  mutable std::map<double, simulate::Quantiles> expected_;  // by clients: at() asks for the same ones again
  bool saturated_ = false, per_node_ = false, local_ = false;
};

}  // namespace headrace::sizing
