// Names and sizes of generated files.
#include "harness/workload/data/data_set/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "harness/workload/data/data_set/block_pattern.h"

namespace headrace {
namespace {

/// A standard normal deviate by the sum of twelve uniforms, cut at +-3. There are only additions and one rounding, so
/// every machine gets the same sizes from the same seed.
double normal_deviate(std::uint64_t seed) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) {
    seed = mix(seed);
    sum += static_cast<double>(seed >> 11) * 0x1p-53;
  }
  return std::clamp(sum, -3.0, 3.0);
}

std::optional<std::uint64_t> number_in(std::string_view text, std::string_view before, std::string_view after) {
  if (!text.starts_with(before) || !text.ends_with(after)) return std::nullopt;
  text.remove_prefix(before.size());
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size() - after.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

std::string ending_of(const DataSetSpec& spec) {
  if (!spec.holds_samples()) return ".bin";
  if (spec.content_sample > 0) return ".tar";
  return spec.content == "jpeg" ? ".jpg" : spec.content == "png" ? ".png" : spec.content == "npz" ? ".npz" : ".zst";
}

}  // namespace

DataSetLayout::DataSetLayout(const DataSetSpec& spec)
    : spec_(spec), ending_(ending_of(spec)), key_(data_set_key(spec.id())) {}

std::string DataSetLayout::folder(std::uint64_t number) const { return fmt::format("d{:03}", number); }

std::string DataSetLayout::name(std::uint64_t file) const { return fmt::format("f{:06}{}", file, ending_); }

std::string DataSetLayout::path(std::uint64_t file) const { return folder(folder_of(file)) + "/" + name(file); }

std::optional<std::uint64_t> DataSetLayout::folder_number(std::string_view folder) const {
  const auto number = number_in(folder, "d", "");
  if (!number || *number >= folders() || this->folder(*number) != folder) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> DataSetLayout::file_number(std::string_view name) const {
  const auto number = number_in(name, "f", ending_);
  if (!number || *number >= files() || this->name(*number) != name) return std::nullopt;
  return number;
}

std::uint64_t DataSetLayout::size(std::uint64_t file) const {
  if (spec_.file_size_spread == 0) return spec_.file_size;
  const double size = static_cast<double>(spec_.file_size) +
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
