// A training job's input from an image: a random part of it, resized, flipped and normalized. The same as torchvision's
// RandomResizedCrop, RandomHorizontalFlip, ToTensor and Normalize.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/backends/codec.h"
#include "harness/base/random.h"

namespace headrace::decode {

/// A part of 8 % to 100 % of the image, its sides 3:4 to 4:3. After ten that do not fit, the largest in the middle
/// (torchvision 0.14, RandomResizedCrop.get_params).
Region random_part(ImageSize size, Random& random) noexcept;

/// For one worker; its memory grows to the largest image's size.
class Resizer {
 public:
  /// Images of `output` x `output` pixels.
  explicit Resizer(std::uint32_t output);
  /// Triangles as wide as the image is made smaller, as Pillow's BILINEAR. `to`: float [3][output][output], channels less
  /// ImageNet's mean, over its deviation.
  void run(const Pixels& from, bool flip, float* to);

 private:
  /// The weights for one side: for each pixel of the result, the first source pixel and `taps` weights.
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
