#include "harness/system/limits.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "harness/base/units.h"
#include "harness/system/list_names.h"

namespace headrace::system {

Limit limit_of(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<decltype(RLIMIT_NOFILE)>(resource), &limit) != 0) return {};
  return {limit.rlim_cur, limit.rlim_max};
}

std::uint64_t make_room_for_files(std::uint64_t more) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return more;
  std::vector<std::string> names;
  // At its limit a process cannot count what it has open.
  const bool full = list_names(AT_FDCWD, "/proc/self/fd", names) == EMFILE;
  const rlim_t open = full ? limit.rlim_cur : names.size();
  if (limit.rlim_cur < open + more && limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = std::min<rlim_t>(open + more, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur > open ? limit.rlim_cur - open : 0;
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
