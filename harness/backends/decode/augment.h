// What a training job makes of an image: a random part of it, resized, flipped and normalized, as torchvision's
// RandomResizedCrop, RandomHorizontalFlip, ToTensor and Normalize do.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/backends/codec.h"
#include "harness/base/random.h"

namespace headrace::decode {

/// A part of 8 % to 100 % of the image, its sides 3:4 to 4:3; after ten that do not fit, the largest in the middle
/// (torchvision 0.14, RandomResizedCrop.get_params).
Region random_part(ImageSize size, Random& random) noexcept;

/// Of one worker; its memory grows to what the largest image takes.
class Resizer {
 public:
  /// Images of `output` x `output` pixels.
  explicit Resizer(std::uint32_t output);
  /// Triangles as wide as the image is made smaller, as Pillow's BILINEAR. `to`: float [3][output][output], channels less
  /// ImageNet's mean, over its deviation.
  void run(const Pixels& from, bool flip, float* to);

 private:
  /// Of one side: for each pixel of the result the first one that it takes from, and their weights, `taps` each.
  struct Weights {
    std::vector<std::uint32_t> first, count;
    std::vector<float> weight;
    std::uint32_t taps = 0;
  };
  void weigh(std::uint32_t from, Weights& weights) const;

  const std::uint32_t output_;
  Weights across_, down_;
  std::vector<float> rows_, row_;
};

}  // namespace headrace::decode
