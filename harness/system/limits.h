// Resource limits of this process, in words.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>

namespace headrace::system {

struct Limit {
  std::uint64_t soft = 0, hard = 0;
  static constexpr std::uint64_t kUnlimited = RLIM_INFINITY;
};

/// RLIMIT_NOFILE, RLIMIT_MEMLOCK ...; zeros when the kernel does not say.
Limit limit_of(int resource);

/// Raises this process's own limit of open files as far as `more` than are open now need it and it may. What may be opened
/// then beside those.
std::uint64_t make_room_for_files(std::uint64_t more);

/// "1024 (up to 524288)", "8.00 MiB", "unlimited".
std::string limit_in_words(const Limit& limit, bool bytes);

}  // namespace headrace::system
