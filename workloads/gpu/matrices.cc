#include "workloads/gpu/matrices.h"

#include <cmath>
#include <cstring>

#include "harness/base/random.h"

namespace headrace::gpu {
namespace {

/// Bits of the fraction, and the exponent of 2^0.
struct Layout {
  unsigned fraction, exponent, bias;
};
Layout layout_of(GpuNumber number) {
  if (number == GpuNumber::fp8) return {3, 4, 7};
  if (number == GpuNumber::fp16) return {10, 5, 15};
  if (number == GpuNumber::fp64) return {52, 11, 1023};
  if (number == GpuNumber::bf16) return {7, 8, 127};
  return {23, 8, 127};
}

/// The possible rounding, as a share of the sum of the products' magnitudes. tf32 keeps ten bits of each factor. For
/// fp8, Hopper's sums keep 14 bits and are added to ones of single precision.
double rounding_of(GpuNumber number, unsigned size) {
  const double sums = size * std::exp2(number == GpuNumber::fp64 ? -52 : -24);
  return sums + (number == GpuNumber::tf32 ? 2 * std::exp2(-10) : number == GpuNumber::fp8 ? std::exp2(-10) : 0);
}

}  // namespace

std::uint64_t matrix_bits(GpuNumber number, unsigned which, std::uint64_t index) {
  const Layout l = layout_of(number);
  const std::uint64_t random = mix(2 * index + which);
  const std::uint64_t sign = random >> 63;
  const std::uint64_t exponent = l.bias - 2 + ((random >> 62) & 1);  // 1/4 .. 1/2, 1/2 .. 1
  const std::uint64_t fraction = random & ((std::uint64_t{1} << l.fraction) - 1);
  return sign << (l.fraction + l.exponent) | exponent << l.fraction | fraction;
}

double matrix_value(GpuNumber number, std::uint64_t bits) {
  const Layout l = layout_of(number);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << l.fraction) - 1);
  const auto exponent = static_cast<int>((bits >> l.fraction) & ((1u << l.exponent) - 1)) - static_cast<int>(l.bias);
  const double magnitude =
      std::ldexp(1 + static_cast<double>(fraction) * std::exp2(-static_cast<double>(l.fraction)), exponent);
  return bits >> (l.fraction + l.exponent) & 1 ? -magnitude : magnitude;
}

double result_value(GpuNumber number, const unsigned char* product, std::uint64_t at) {
  if (number == GpuNumber::fp64) {
    double value = 0;
    std::memcpy(&value, product + at * sizeof value, sizeof value);
    return value;
  }
  float value = 0;
  std::memcpy(&value, product + at * sizeof value, sizeof value);
  return value;
}

void fill_matrix(GpuNumber number, unsigned which, std::uint64_t elements, unsigned char* to) {
  const std::uint64_t width = bytes_of(number);
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = matrix_bits(number, which, i);
    std::memcpy(to + i * width, &bits, width);  // little-endian hosts, as all that GPUs are attached to
  }
}

ProductElement product_element(GpuNumber number, unsigned size, unsigned row, unsigned column) {
  ProductElement element;
  double magnitudes = 0;
  for (std::uint64_t k = 0; k < size; ++k) {
    const std::uint64_t of_a = first_by_rows(number) ? k + std::uint64_t{row} * size : row + k * size;
    const double a = matrix_value(number, matrix_bits(number, 0, of_a));
    const double b = matrix_value(number, matrix_bits(number, 1, k + std::uint64_t{column} * size));
    element.value += a * b;
    magnitudes += std::abs(a * b);
  }
  element.tolerance = magnitudes * rounding_of(number, size);
  return element;
}

}  // namespace headrace::gpu
