// The rest of a user's or group's quota on a file system, below the free space there.
#pragma once

#include <sys/quota.h>

#include <cstdint>
#include <string>

namespace headrace::system {

struct QuotaRest {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t bytes = kUnlimited, files = kUnlimited;
  bool operator==(const QuotaRest&) const = default;
};

/// The rest of one quota, as the kernel describes it: up to the hard limits.
QuotaRest rest_of(const dqblk& quota);

/// The rest for this process's user and group, at the existing `path`. Unlimited for root, which quotas do not limit.
/// Also where the file system has none or, such as NFS, does not answer here.
QuotaRest quota_rest(const std::string& path);

}  // namespace headrace::system
