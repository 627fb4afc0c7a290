#include "harness/backends/decode/cost_fit.h"

namespace headrace::decode {

std::optional<CostFit> fit_costs(std::span<const Cost> costs) {
  if (costs.size() < 3) return std::nullopt;
  double bb = 0, pp = 0, bp = 0, bt = 0, pt = 0, mean = 0;
  for (const Cost& c : costs) {
    bb += c.bytes * c.bytes;
    pp += c.pixels * c.pixels;
    bp += c.bytes * c.pixels;
    bt += c.bytes * c.seconds;
    pt += c.pixels * c.seconds;
    mean += c.seconds / static_cast<double>(costs.size());
  }
  const double determinant = bb * pp - bp * bp;
  if (!(determinant > 1e-6 * bb * pp)) return std::nullopt;  // bytes in proportion to pixels
  CostFit fit{.per_byte = (bt * pp - pt * bp) / determinant, .per_pixel = (pt * bb - bt * bp) / determinant};
  double left = 0, all = 0;
  for (const Cost& c : costs) {
    const double off = c.seconds - fit.per_byte * c.bytes - fit.per_pixel * c.pixels, distance = c.seconds - mean;
    left += off * off;
    all += distance * distance;
  }
  if (!(all > 0)) return std::nullopt;
  fit.r2 = 1 - left / all;
  return fit;
}

}  // namespace headrace::decode
