#include "harness/system/limits.h"

#include "harness/base/units.h"

namespace headrace::system {

Limit limit_of(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<decltype(RLIMIT_NOFILE)>(resource), &limit) != 0) return {};
  return {limit.rlim_cur, limit.rlim_max};
}

std::string limit_in_words(const Limit& limit, bool bytes) {
  const auto word = [&](std::uint64_t value) -> std::string {
    if (value == Limit::kUnlimited) return "unlimited";
    return bytes ? format_quantity(static_cast<double>(value), Dimension::bytes, true) : std::to_string(value);
  };
  if (limit.soft == limit.hard) return word(limit.soft);
  return word(limit.soft) + " (up to " + word(limit.hard) + ")";
}

}  // namespace headrace::system
