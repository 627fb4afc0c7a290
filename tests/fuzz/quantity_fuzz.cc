// Any text as a quantity of every dimension: read or refused with a reason, and what is read can be
// written and read again.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "harness/base/units.h"
#include "tests/fuzz/invariant.h"

namespace {
using namespace headrace;
using fuzzing::expect;

constexpr Dimension kLast = Dimension::text;

/// What people read has `digits` digits; read back, it is the value but for their rounding.
void check_shown(const std::string& shown, double value, Dimension dimension, int digits) {
  expect(!shown.empty() && shown != "not a number", "a held value can be shown", shown);
  if (dimension == Dimension::boolean) return;
  std::string text = shown;
  // Units that are written without a prefix are shown with one all the same ("1.5 M" nodes).
  const std::string_view base = unit_name(dimension);
  if (dimension == Dimension::any || base == "count" || base == "ratio" || base.starts_with("USD") ||
      dimension == Dimension::hours || dimension == Dimension::gigabytes)
    return;
  const Parsed again = parse_quantity(text, dimension);
  expect(static_cast<bool>(again), "what is shown can be read", shown + ": " + again.error);
  const double slack = 0.6 * std::pow(10.0, 1 - digits) * std::abs(value) + 1e-300;
  expect(std::abs(again.value - value) <= slack, "what is shown is near the value",
         fmt::format("{} for {}", shown, value));
}

void check(std::string_view text, Dimension dimension) {
  const Parsed parsed = parse_quantity(text, dimension);
  if (!parsed) return;
  expect(std::isfinite(parsed.value), "a value is finite", std::string(text));
  expect(dimension != Dimension::text, "text is no quantity", std::string(text));
  const std::string exact = exact_quantity(parsed.value, dimension);
  const Parsed again = parse_quantity(exact, dimension);
  expect(again && again.value == parsed.value, "an exact text gives the same value", exact + " " + again.error);
  check_shown(format_quantity(parsed.value, dimension), parsed.value, dimension, 3);
  check_shown(format_quantity(parsed.value, dimension, true), parsed.value, dimension, 3);
  check_shown(compact_quantity(parsed.value, dimension), parsed.value, dimension, 6);
  expect(!format_in_unit(parsed.value, unit_name(dimension)).empty(), "a value has a text in its unit", exact);
  expect(!format_duration(parsed.value).empty(), "a duration has a text", exact);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (int i = 0; i <= static_cast<int>(kLast); ++i) check(text, static_cast<Dimension>(i));
  return 0;
}
