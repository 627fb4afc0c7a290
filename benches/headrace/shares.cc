#include "benches/headrace/shares.h"

#include <fmt/format.h>

#include "harness/base/diagnostics.h"
#include "harness/base/units.h"

namespace headrace::cli {

double share_of(const std::string& option, const std::string& text, double fallback) {
  if (text.empty()) return fallback;
  const bool percent = text.ends_with('%');
  const Parsed parsed = parse_quantity(text.substr(0, text.size() - (percent ? 1 : 0)), Dimension::ratio);
  const double share = percent ? parsed.value / 100 : parsed.value;
  if (!parsed || share <= 0 || share >= 1)
    throw UsageError(fmt::format("{}: '{}' must be between 0 and 100 %, such as 5%", option, text));
  return share;
}

}  // namespace headrace::cli
