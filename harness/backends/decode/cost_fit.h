// The time that decoding takes, as a multiple of the bytes and one of the pixels of an image.
#pragma once

#include <optional>
#include <span>

namespace headrace::decode {

/// One image: its stored bytes, its pixels, and the mean time that it took [s].
struct Cost {
  double bytes = 0, pixels = 0, seconds = 0;
};

/// seconds = per_byte * bytes + per_pixel * pixels.
struct CostFit {
  double per_byte = 0, per_pixel = 0;  // [s]
  double r2 = 0;  // 1 - squared residuals over squared distances from the mean; below 0: worse than the mean alone
};

/// By least squares. Nothing where the images do not distinguish bytes and pixels , or all took the same time.
std::optional<CostFit> fit_costs(std::span<const Cost> costs);

}  // namespace headrace::decode
