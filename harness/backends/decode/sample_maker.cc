#include "harness/backends/decode/sample_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/random.h"

namespace headrace::decode {
namespace {

constexpr std::uint64_t kNoiseStep = 8;
constexpr std::uint32_t kLeastSide = 8, kMostSide = 16384;  // [pixels]

/// RGB, interleaved. `noise`: of 256.
std::vector<unsigned char> draw(std::uint64_t seed, std::uint64_t noise, std::uint32_t width, std::uint32_t height) {
  Random random(seed);
  const double phase = static_cast<double>(random.below(628)) / 100;
  const std::size_t row = std::size_t{3} * width;
  std::vector<unsigned char> across(row), rgb(row * height);
  for (std::size_t i = 0; i < row; ++i)
    across[i] =
        static_cast<unsigned char>(80 + 50 * std::sin(phase + 9.0 * static_cast<double>(i / 3) / width + i % 3));
  for (std::uint32_t y = 0; y < height; ++y) {
    const auto down = static_cast<unsigned>(40 + 40 * std::cos(phase + 7.0 * y / height));
    unsigned char* const out = rgb.data() + row * y;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < row; ++i, bits >>= 8) {
      if (i % 8 == 0) bits = random.next();
      out[i] = static_cast<unsigned char>(across[i] + down + ((bits & 255) * noise >> 8));  // at most 130 + 80 + 45
    }
  }
  return rgb;
}

}  // namespace

SampleMaker::SampleMaker(const Codec& codec, std::uint64_t bytes)
    : codec_(codec), images_(codec.byte_decoder({}) == nullptr) {
  const double pixels = std::clamp(static_cast<double>(bytes), 4096.0, 250e3);
  for (std::size_t i = 0; i < bytes_per_pixel_.size(); ++i)
    bytes_per_pixel_[i] = static_cast<double>(encoded(i + 1, i * kNoiseStep, pixels).size()) / pixels;
}

std::vector<unsigned char> SampleMaker::encoded(std::uint64_t seed, std::uint64_t noise, double pixels) const {
  const auto side = [](double length) {
    return static_cast<std::uint32_t>(std::clamp(length, double{kLeastSide}, double{kMostSide}));
  };
  const std::uint32_t width = side(std::sqrt(pixels * 4 / 3)), height = side(pixels / width);
  const std::vector<unsigned char> rgb = draw(seed, noise, width, height);
  return images_ ? codec_.encode({rgb.data(), std::size_t{3} * width, width, height}, kQuality) : codec_.encode(rgb);
}

std::vector<unsigned char> SampleMaker::make(std::uint64_t seed, std::uint64_t most) const {
  constexpr double kAim = 0.97, kEnough = 0.92;  // of `most`
  constexpr int kTries = 8;
  const std::uint64_t noise = Random(seed).below(kMostNoise);
  const double part = static_cast<double>(noise % kNoiseStep) / kNoiseStep;
  const double per_pixel =
      bytes_per_pixel_[noise / kNoiseStep] * (1 - part) + bytes_per_pixel_[noise / kNoiseStep + 1] * part;
  double pixels = kAim * static_cast<double>(most) / per_pixel;
  std::vector<unsigned char> best;
  for (int i = 0; i < kTries; ++i) {
    std::vector<unsigned char> one = encoded(seed, noise, pixels);
    const double share = static_cast<double>(one.size()) / static_cast<double>(most);
    if (share <= 1 && one.size() > best.size()) best = std::move(one);
    if (static_cast<double>(best.size()) >= kEnough * static_cast<double>(most) || (!best.empty() && i >= 3)) break;
    pixels *= kAim / share;
  }
  if (best.empty()) throw RunError(fmt::format("no sample of {} bytes can be made", most));
  return best;
}

}  // namespace headrace::decode
