#include "workloads/gpu/matrices.h"

#include <cmath>
#include <cstring>

#include "harness/base/random.h"

namespace headrace::gpu {
namespace {

/// Bits of the fraction, and the exponent that stands for 2^0.
struct Layout {
  unsigned fraction, exponent, bias;
};
Layout layout_of(GpuNumber number) {
  if (number == GpuNumber::fp16) return {10, 5, 15};
  if (number == GpuNumber::bf16) return {7, 8, 127};
  return {23, 8, 127};
}

/// Of the sum of the products' magnitudes: what rounding may cost. tf32 keeps ten bits of each factor.
double rounding_of(GpuNumber number, unsigned size) {
  const double sums = size * std::exp2(-24);
  return sums + (number == GpuNumber::tf32 ? 2 * std::exp2(-10) : 0);
}

}  // namespace

std::uint32_t matrix_bits(GpuNumber number, unsigned which, std::uint64_t index) {
  const Layout l = layout_of(number);
  const std::uint64_t random = mix(2 * index + which);
  const auto sign = static_cast<std::uint32_t>(random >> 63);
  const auto exponent = static_cast<std::uint32_t>(l.bias - 2 + ((random >> 62) & 1));  // 1/4 .. 1/2, 1/2 .. 1
  const auto fraction = static_cast<std::uint32_t>(random & ((1u << l.fraction) - 1));
  return sign << (l.fraction + l.exponent) | exponent << l.fraction | fraction;
}

double matrix_value(GpuNumber number, std::uint32_t bits) {
  const Layout l = layout_of(number);
  const std::uint32_t fraction = bits & ((1u << l.fraction) - 1);
  const auto exponent = static_cast<int>((bits >> l.fraction) & ((1u << l.exponent) - 1)) - static_cast<int>(l.bias);
  const double magnitude = std::ldexp(1 + fraction * std::exp2(-static_cast<double>(l.fraction)), exponent);
  return bits >> (l.fraction + l.exponent) & 1 ? -magnitude : magnitude;
}

void fill_matrix(GpuNumber number, unsigned which, std::uint64_t elements, unsigned char* to) {
  const std::uint64_t width = bytes_of(number);
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::uint32_t bits = matrix_bits(number, which, i);
    std::memcpy(to + i * width, &bits, width);  // little-endian hosts, as all that GPUs are attached to
  }
}

ProductElement product_element(GpuNumber number, unsigned size, unsigned row, unsigned column) {
  ProductElement element;
  double magnitudes = 0;
  for (std::uint64_t k = 0; k < size; ++k) {
    const double a = matrix_value(number, matrix_bits(number, 0, row + k * size));
    const double b = matrix_value(number, matrix_bits(number, 1, k + std::uint64_t{column} * size));
    element.value += a * b;
    magnitudes += std::abs(a * b);
  }
  element.tolerance = magnitudes * rounding_of(number, size);
  return element;
}

}  // namespace headrace::gpu
