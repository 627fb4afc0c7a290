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

/// "1024 (up to 524288)", "8.00 MiB", "unlimited".
std::string limit_in_words(const Limit& limit, bool bytes);

}  // namespace headrace::system
