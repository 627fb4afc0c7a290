#include "harness/backends/decode/augment.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headrace::decode {
namespace {

double uniform(Random& random) noexcept { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

constexpr std::array kMean{0.485f, 0.456f, 0.406f}, kDeviation{0.229f, 0.224f, 0.225f};

}  // namespace

Region random_part(ImageSize size, Random& random) noexcept {
  const double width = size.width, height = size.height, least = 3.0 / 4, most = 4.0 / 3;
  for (int i = 0; i < 10; ++i) {
    const double area = width * height * (0.08 + 0.92 * uniform(random));
    const double ratio = std::exp(std::log(least) + (std::log(most) - std::log(least)) * uniform(random));
    const auto w = static_cast<std::uint32_t>(std::lround(std::sqrt(area * ratio)));
    const auto h = static_cast<std::uint32_t>(std::lround(std::sqrt(area / ratio)));
    if (w == 0 || h == 0 || w > size.width || h > size.height) continue;
    const auto x = static_cast<std::uint32_t>(random.below(size.width - w + 1));
    return {x, static_cast<std::uint32_t>(random.below(size.height - h + 1)), w, h};
  }
  double w = width, h = height;
  if (width / height < least) h = std::round(width / least);
  if (width / height > most) w = std::round(height * most);
  const auto part_w = static_cast<std::uint32_t>(std::clamp(w, 1.0, width));
  const auto part_h = static_cast<std::uint32_t>(std::clamp(h, 1.0, height));
  return {(size.width - part_w) / 2, (size.height - part_h) / 2, part_w, part_h};
}

Resizer::Resizer(std::uint32_t output) : output_(output), row_(std::size_t{3} * output) {}

void Resizer::weigh(std::uint32_t from, Weights& weights) const {
  const double scale = static_cast<double>(from) / output_, wide = std::max(scale, 1.0);
  weights.taps = static_cast<std::uint32_t>(std::ceil(wide)) * 2 + 1;
  weights.first.resize(output_);
  weights.count.resize(output_);
  weights.weight.assign(std::size_t{weights.taps} * output_, 0);
  for (std::uint32_t i = 0; i < output_; ++i) {
    const double centre = (i + 0.5) * scale;
    const auto begin = static_cast<std::uint32_t>(std::max(0.0, std::floor(centre - wide + 0.5)));
    const auto end = std::min(from, static_cast<std::uint32_t>(std::floor(centre + wide + 0.5)));
    float* const weight = weights.weight.data() + std::size_t{i} * weights.taps;
    double sum = 0;
    for (std::uint32_t k = begin; k < end; ++k) sum += std::max(0.0, 1 - std::abs((k + 0.5 - centre) / wide));
    for (std::uint32_t k = begin; k < end; ++k)
      weight[k - begin] = static_cast<float>(std::max(0.0, 1 - std::abs((k + 0.5 - centre) / wide)) / sum);
    weights.first[i] = begin;
    weights.count[i] = end - begin;
  }
}

void Resizer::run(const Pixels& from, bool flip, float* to) {
  weigh(from.width, across_);
  weigh(from.height, down_);
  const std::size_t length = std::size_t{3} * output_;
  if (rows_.size() < length * from.height) rows_.resize(length * from.height);
  for (std::uint32_t y = 0; y < from.height; ++y) {
    const unsigned char* const row = from.data + y * from.stride;
    float* out = rows_.data() + y * length;
    for (std::uint32_t x = 0; x < output_; ++x, out += 3) {
      const float* const weight = across_.weight.data() + std::size_t{x} * across_.taps;
      const unsigned char* pixel = row + std::size_t{3} * across_.first[x];
      float r = 0, g = 0, b = 0;
      for (std::uint32_t k = 0; k < across_.count[x]; ++k, pixel += 3) {
        r += weight[k] * pixel[0];
        g += weight[k] * pixel[1];
        b += weight[k] * pixel[2];
      }
      out[0] = r;
      out[1] = g;
      out[2] = b;
    }
  }
  for (std::uint32_t y = 0; y < output_; ++y) {
    std::fill(row_.begin(), row_.end(), 0.0f);
    const float* const weight = down_.weight.data() + std::size_t{y} * down_.taps;
    for (std::uint32_t k = 0; k < down_.count[y]; ++k) {
      const float* const in = rows_.data() + (down_.first[y] + k) * length;
      for (std::size_t i = 0; i < length; ++i) row_[i] += weight[k] * in[i];
    }
    for (std::size_t c = 0; c < 3; ++c) {
      float* const out = to + (c * output_ + y) * output_;
      const float factor = 1 / (255 * kDeviation[c]), less = kMean[c] / kDeviation[c];
      for (std::uint32_t x = 0; x < output_; ++x) out[flip ? output_ - 1 - x : x] = row_[3 * x + c] * factor - less;
    }
  }
}

}  // namespace headrace::decode
