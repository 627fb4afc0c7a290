// Samples of given sizes: images of waves and noise, each another, in a codec's format.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "harness/backends/codec.h"

namespace headrace::decode {

/// For several threads at once.
class SampleMaker {
 public:
  /// `bytes`: the approximate size of samples, for which the number of pixels is measured. Throws RunError.
  SampleMaker(const Codec& codec, std::uint64_t bytes);
  /// The image for `seed`: 4:3, with little to much noise, of `most` bytes or a little less. Of a codec of no images
  /// its bytes are those of such an image. Throws RunError: none is so small.
  std::vector<unsigned char> make(std::uint64_t seed, std::uint64_t most) const;

 private:
  static constexpr int kQuality = 90;
  static constexpr std::uint64_t kMostNoise = 48;  // of 256; a photograph has about half of it

  std::vector<unsigned char> encoded(std::uint64_t seed, std::uint64_t noise, double pixels) const;

  const Codec& codec_;
  const bool images_;
  std::array<double, 7> bytes_per_pixel_{};  // at noise of 0, 8, .. kMostNoise
};

}  // namespace headrace::decode
