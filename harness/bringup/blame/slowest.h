// A pair is as slow as its slowest part: the loss of several independent parts.
#pragma once

#include "harness/bringup/blame/losses.h"

namespace headrace::bringup {

/// How likely the slowest of some parts loses at most, and exactly, each amount.
struct Slowest {
  Weights at_most;

  Slowest() { at_most.fill(1); }
  void with(const Weights& part) {
    double sum = 0;
    for (std::size_t i = 0; i < part.size(); ++i) at_most[i] *= sum += part[i];
  }
  double exactly(std::size_t i) const { return at_most[i] - (i > 0 ? at_most[i - 1] : 0); }
};

/// The likelihood for each amount that one more part may lose. `likelihood`: by the slowest of all.
inline Weights seen_with(const Slowest& others, const Weights& likelihood) {
  Weights out;
  double above = 0;
  for (std::size_t i = out.size(); i-- > 0;) {
    out[i] = likelihood[i] * others.at_most[i] + above;
    above += others.exactly(i) * likelihood[i];
  }
  return out;
}

}  // namespace headrace::bringup
