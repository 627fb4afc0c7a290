// Matrices of random numbers of a kind, made and read on the host.
#pragma once

#include <cstdint>
#include <span>

#include "harness/backends/gpu.h"

namespace headrace::gpu {

/// Element `index` of matrix `which` as its bits. It has either sign, a magnitude from 1/4 to 1, and random bits in the
/// fraction. So a product heats the GPU as training does.
std::uint64_t matrix_bits(GpuNumber number, unsigned which, std::uint64_t index);
/// The value of such bits.
double matrix_value(GpuNumber number, std::uint64_t bits);
/// The element of a product at `at`.
double result_value(GpuNumber number, const unsigned char* product, std::uint64_t at);
/// Fills a matrix of `elements`.
void fill_matrix(GpuNumber number, unsigned which, std::uint64_t elements, unsigned char* to);

/// The right value of a product's element, and the allowed distance of the library's sums.
struct ProductElement {
  double value = 0, tolerance = 0;
};
ProductElement product_element(GpuNumber number, unsigned size, unsigned row, unsigned column);

}  // namespace headrace::gpu
