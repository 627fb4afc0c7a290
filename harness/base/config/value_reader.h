// Reading single values of a configuration: a wrong one is a problem and reads as nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"

namespace headrace::config {

/// Up to here a quantity holds every whole number: 2^53.
inline constexpr double kMostWhole = 9007199254740992;

/// Is one of the map's keys in `known`, or similar to one that is? A map without keys counts.
bool names_any(const Value& map, const std::vector<std::string>& known);
/// Refuses a file whose keys are none of these: a problem that repeats none of its lines.
void refuse_names(const Value& map, const std::vector<std::string>& known, Diagnostics& problems);

/// Reads for one owner (a workload's name, a section), which every message begins with.
class ValueReader {
 public:
  ValueReader(Diagnostics& problems, std::string owner) : problems_(problems), owner_(std::move(owner)) {}

  /// A quantity of `min` to `max`; nothing when `value` is null or wrong.
  std::optional<double> quantity(const Value* value, std::string_view key, Dimension dimension, double min,
                                 double max = 1e300);
  /// A whole number of bytes or things, `min` to `max` (at most 2^53, the limit of exact quantities). Nothing when
  /// `value` is null or wrong.
  std::optional<std::uint64_t> whole(const Value* value, std::string_view key, Dimension dimension, double min,
                                     double max = kMostWhole);
  /// true or false; null reads as false.
  bool flag(const Value* value, std::string_view key);
  /// A scalar's text; null reads as "".
  std::string text(const Value* value, std::string_view key);
  /// Every key of `map` that is not in `known` is a problem that offers the nearest. Of a whole file, see
  /// refuse_names().
  void known_keys(const Value& map, const std::vector<std::string>& known);
  /// Records a problem at the value's place.
  std::nullopt_t refuse(const Value& value, std::string_view key, const std::string& why);

 private:
  std::string prefix() const { return owner_.empty() ? "" : owner_ + ": "; }
  Diagnostics& problems_;
  std::string owner_;
};

}  // namespace headrace::config
