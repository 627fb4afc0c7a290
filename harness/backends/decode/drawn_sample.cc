#include "harness/backends/decode/drawn_sample.h"

#include <algorithm>
#include <cmath>

#include "harness/base/random.h"

namespace headrace::decode {

std::vector<unsigned char> draw_sample(const Codec& codec, std::uint64_t number, std::uint32_t width, int quality) {
  Random random(number + 1);
  const auto w = static_cast<std::uint32_t>(width / 2 + random.below(width + 1)), h = std::max(w * 3 / 4, 1u);
  const std::uint64_t noise = 1 + random.below(48);
  std::vector<double> across(std::size_t{3} * w);
  for (std::uint32_t i = 0; i < 3 * w; ++i) {
    const std::uint32_t column = i / 3, colour = i % 3;
    across[i] = 100 + 60 * std::sin(9.0 * column / w + colour);
  }
  std::vector<unsigned char> rgb(std::size_t{3} * w * h);
  for (std::uint32_t y = 0; y < h; ++y) {
    const double down = 40 * std::cos(7.0 * y / h);
    for (std::uint32_t i = 0; i < 3 * w; ++i)
      rgb[std::size_t{3} * w * y + i] =
          static_cast<unsigned char>(across[i] + down + static_cast<double>(random.below(noise)));
  }
  if (codec.byte_decoder({})) return codec.encode(rgb);
  return codec.encode({rgb.data(), std::size_t{3} * w, w, h}, quality);
}

std::uint32_t width_for(const Codec& codec, std::uint64_t bytes, int quality) {
  constexpr std::uint64_t kTried = 16;
  double width = 100;
  for (int round = 0; round < 2; ++round) {
    double all = 0;
    for (std::uint64_t i = 0; i < kTried; ++i)
      all += static_cast<double>(draw_sample(codec, i, static_cast<std::uint32_t>(width), quality).size());
    width = std::clamp(width * std::sqrt(static_cast<double>(bytes) * kTried / all), 16.0, 16384.0);
    if (width > 1000) break;  // heads are little of it, and the next round would take long
  }
  return static_cast<std::uint32_t>(width);
}

}  // namespace headrace::decode
