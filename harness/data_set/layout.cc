// Names and sizes of generated files.
#include "harness/data_set/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/data_set/block_pattern.h"

namespace headrace {
namespace {

/// A standard normal deviate by the sum of twelve uniforms, cut at +-3: only additions and one
/// rounding, so that every machine gets the same sizes from the same seed.
double normal_deviate(std::uint64_t seed) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) {
    seed = mix(seed);
    sum += static_cast<double>(seed >> 11) * 0x1p-53;
  }
  return std::clamp(sum, -3.0, 3.0);
}

}  // namespace

DataSetLayout::DataSetLayout(const DataSetSpec& spec)
    : spec_(spec), key_(data_set_key(spec.id())) {}

std::string DataSetLayout::folder(std::uint64_t number) const {
  return fmt::format("d{:03}", number);
}

std::string DataSetLayout::path(std::uint64_t file) const {
  return fmt::format("d{:03}/f{:06}.bin", file / spec_.files_per_folder, file);
}

std::uint64_t DataSetLayout::size(std::uint64_t file) const {
  if (spec_.file_size_spread == 0) return spec_.file_size;
  const double size =
      static_cast<double>(spec_.file_size) +
      normal_deviate(mix(key_) ^ file) * static_cast<double>(spec_.file_size_spread);
  const double least = static_cast<double>(std::min(kBlock, spec_.file_size));
  return static_cast<std::uint64_t>(std::llround(std::max(size, least)));
}

std::uint64_t DataSetLayout::total_bytes() const {
  if (spec_.file_size_spread == 0) return spec_.bytes();
  std::uint64_t total = 0;
  for (std::uint64_t file = 0; file < files(); ++file) total += size(file);
  return total;
}

}  // namespace headrace
