// Keeps a GPU's mean power near a share of its limit by pauses between batches of products.
#pragma once

#include <algorithm>
#include <cmath>

namespace headrace::gpu {

class PowerControl {
 public:
  explicit PowerControl(double target) : target_(target) {}
  /// What the driver reported, as a share of the limit; the same look again changes nothing.
  void seen(unsigned looks, double ratio) {
    if (looks == looks_ || ratio <= 0) return;
    looks_ = looks;
    busy_ = std::clamp(busy_ * std::sqrt(target_ / ratio), kLeast, 1.0);
  }
  /// After a batch that took `batch_s` [s].
  double pause(double batch_s) const { return batch_s * (1 / busy_ - 1); }

 private:
  static constexpr double kLeast = 0.02;
  const double target_;
  double busy_ = 1;  // share of the time
  unsigned looks_ = 0;
};

}  // namespace headrace::gpu
