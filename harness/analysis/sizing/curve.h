// Supply over the number of clients: at measured counts, between and beyond them.
#pragma once

#include <map>
#include <vector>

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

  /// The clients out of `wanted` that the measurements cover. All of them where each client has its own, or the supply
  /// had stopped growing. Where two counts show the growth, up to kFarthest times the measured ones. Else no more than
  /// were measured. One count shows no growth, nor do nodes that each read storage of their own.
  double reach(double wanted) const;
  static constexpr double kFarthest = 4;
  /// Between measured counts along a straight line. Below the smallest, in proportion. At best as much as those gave
  /// together, for fewer clients may well get more each. Above the largest, G6: each further client gets as much as
  /// those of the largest count. Where the supply had stopped growing, the total stays. Where only the means say so,
  /// the high bound grows in proportion. `clients` within reach().
  Value at(double clients) const;
  unsigned measured_to() const { return measured_.rbegin()->first; }
  /// By the number of clients.
  const std::map<unsigned, Measurement>& counts() const { return measured_; }
  const Measurement& largest() const { return measured_.rbegin()->second; }
  bool saturated() const { return saturated_; }
  bool per_node() const { return per_node_; }

 private:
  std::map<unsigned, Measurement> measured_;
  bool saturated_ = false, surely_saturated_ = false, per_node_ = false, local_ = false;
};

}  // namespace headrace::sizing
