// Whole numbers as the types of numbers have them that collectives add: bit by bit, so that results are compared with what
// must be there and not against what is near.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "harness/backends/nccl.h"

namespace headrace::network {

/// How a type of floating-point number is made.
struct ElementLayout {
  unsigned bytes, mantissa_bits, bias;
};
constexpr ElementLayout layout_of(NcclElement e) {
  switch (e) {
    case NcclElement::f32:
      return {4, 23, 127};
    case NcclElement::f16:
      return {2, 10, 15};
    case NcclElement::bf16:
      return {2, 7, 127};
    case NcclElement::f8e4m3:
      return {1, 3, 7};
    case NcclElement::f8e5m2:
      break;
  }
  return {1, 2, 15};
}

/// Up to here the type has every whole number.
constexpr std::uint64_t largest_whole(NcclElement e) { return std::uint64_t{2} << layout_of(e).mantissa_bits; }

/// `value`: 0, or a whole number up to largest_whole(e).
inline std::uint32_t element_bits(float value, NcclElement e) noexcept {
  const ElementLayout layout = layout_of(e);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (bits == 0) return 0;
  const std::uint32_t exponent = (bits >> 23) + layout.bias - 127, fraction = bits & 0x7fffffu;
  return exponent << layout.mantissa_bits | fraction >> (23 - layout.mantissa_bits);
}

inline void put_element(unsigned char* to, std::uint64_t i, float value, NcclElement e) noexcept {
  const std::uint32_t bits = element_bits(value, e);
  std::memcpy(to + i * layout_of(e).bytes, &bits, layout_of(e).bytes);
}
inline std::uint32_t bits_at(const unsigned char* from, std::uint64_t i, NcclElement e) noexcept {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from + i * layout_of(e).bytes, layout_of(e).bytes);
  return bits;
}
/// What the bits of a normal number mean; of others something that is no whole number.
inline float element_value(std::uint32_t bits, NcclElement e) noexcept {
  const ElementLayout layout = layout_of(e);
  if (bits == 0) return 0;
  const std::uint32_t sign = bits >> (8 * layout.bytes - 1) << 31;
  const std::uint32_t body = bits & ((1u << (8 * layout.bytes - 1)) - 1);
  const std::uint32_t exponent = (body >> layout.mantissa_bits) + 127 - layout.bias;
  const std::uint32_t fraction = body & ((1u << layout.mantissa_bits) - 1);
  return std::bit_cast<float>(sign | exponent << 23 | fraction << (23 - layout.mantissa_bits));
}

}  // namespace headrace::network
