#include "harness/engine/plan/rehearsal/entry.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::rehearsal {

Value entry_of(const char* use, const Value& from, std::span<const char* const> keys) {
  Value entry;
  entry.kind = Value::Kind::map;
  entry = with(std::move(entry), "use", use);
  for (const char* key : keys)
    if (const Value* value = from.find(key)) entry.set(key, *value);
  return entry;
}

Value with(Value entry, const char* key, std::string text) {
  entry.set(key, Value::scalar(std::move(text), {"job", 0, 0}));
  return entry;
}

double number(const Value& entry, const char* key, Dimension dimension) {
  const Value* value = entry.find(key);
  if (value == nullptr) return 0;
  const Parsed parsed = parse_quantity(value->text, dimension);
  return parsed ? parsed.value : 0;
}

double rows_of_group(const Value& entry) {
  const Value* profile = entry.find("read_profile");
  if (profile == nullptr || profile->text != "row_group") return 1;
  return std::max(
      1.0, std::ceil(number(entry, "block_size", Dimension::bytes) / number(entry, "sample_size", Dimension::bytes)));
}

}  // namespace headrace::rehearsal
