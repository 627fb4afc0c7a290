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
  /// `bytes`: what samples have about, by which it is measured how many pixels that takes. Throws RunError.
  SampleMaker(const Codec& codec, std::uint64_t bytes);
  /// The one that follows from `seed`, of 4:3 and with noise between little and much, of `most` bytes or a little less.
  /// Of a codec of no images its bytes are those of such an image. Throws RunError: none is so small.
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
