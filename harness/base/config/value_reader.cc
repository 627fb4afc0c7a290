// Reading single values, with every problem at its place.
#include "harness/base/config/value_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headrace::config {

std::optional<double> ValueReader::quantity(const Value* value, std::string_view key, Dimension dimension, double min,
                                            double max) {
  if (value == nullptr) return std::nullopt;
  if (!value->is_scalar()) return refuse(*value, key, "must be one value");
  const Parsed parsed = parse_quantity(value->text, dimension);
  if (!parsed) return refuse(*value, key, fmt::format("'{}' {}", value->text, parsed.error));
  if (parsed.value < min) return refuse(*value, key, fmt::format("{} must be {:g} or more", value->text, min));
  if (parsed.value > max)
    return refuse(*value, key, fmt::format("{} must be at most {}", value->text, exact_quantity(max, dimension)));
  return parsed.value;
}

std::optional<std::uint64_t> ValueReader::whole(const Value* value, std::string_view key, Dimension dimension,
                                                double min, double max) {
  const auto number = quantity(value, key, dimension, min, max);
  if (!number) return std::nullopt;
  if (std::floor(*number) != *number) return refuse(*value, key, fmt::format("{} is not a whole number", value->text));
  return static_cast<std::uint64_t>(*number);
}

bool ValueReader::flag(const Value* value, std::string_view key) {
  if (value == nullptr) return false;
  if (value->text != "true" && value->text != "false") refuse(*value, key, "must be true or false");
  return value->text == "true";
}

std::string ValueReader::text(const Value* value, std::string_view key) {
  if (value == nullptr) return "";
  if (!value->is_scalar()) refuse(*value, key, "must be text");
  return value->text;
}

bool names_any(const Value& map, const std::vector<std::string>& known) {
  return map.entries.empty() || std::any_of(map.entries.begin(), map.entries.end(), [&](const Value::Entry& entry) {
           return std::find(known.begin(), known.end(), entry.key) != known.end() ||
                  !did_you_mean(entry.key, known).empty();
         });
}

void refuse_names(const Value& map, const std::vector<std::string>& known, Diagnostics& problems) {
  problems.error(map.where, fmt::format("none of its keys is known (keys: {})", join(known)));
}

void ValueReader::known_keys(const Value& map, const std::vector<std::string>& known) {
  if (prefix().empty() && !names_any(map, known)) return refuse_names(map, known, problems_);
  for (const Value::Entry& entry : map.entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    problems_.error(entry.key_where, fmt::format("{}unknown key '{}'{} (keys: {})", prefix(), entry.key,
                                                 did_you_mean(entry.key, known), join(known)));
  }
}

std::nullopt_t ValueReader::refuse(const Value& value, std::string_view key, const std::string& why) {
  problems_.error(value.where, fmt::format("{}{}: {}", prefix(), key, why));
  return std::nullopt;
}

}  // namespace headrace::config
