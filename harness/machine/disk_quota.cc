#include "harness/machine/disk_quota.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/system/open_quiet.h"

namespace headrace::system {

QuotaRest rest_of(const dqblk& quota) {
  constexpr std::uint64_t kBlock = 1024;  // of limits [B]; usage is in bytes
  const auto rest = [](std::uint64_t limit, std::uint64_t used) {
    return limit == 0 ? QuotaRest::kUnlimited : limit - std::min(limit, used);
  };
  return {.bytes = rest(quota.dqb_bhardlimit * kBlock, quota.dqb_curspace),
          .files = rest(quota.dqb_ihardlimit, quota.dqb_curinodes)};
}

QuotaRest quota_rest(const std::string& path) {
  QuotaRest all;
#ifdef SYS_quotactl_fd
  if (::geteuid() == 0) return all;
  const UniqueFd fd = open_quiet(AT_FDCWD, path.c_str());
  if (!fd) return all;
  for (const auto& [kind, id] :
       std::array{std::pair<int, unsigned>{USRQUOTA, ::geteuid()}, std::pair<int, unsigned>{GRPQUOTA, ::getegid()}}) {
    dqblk quota{};
    if (::syscall(SYS_quotactl_fd, fd.get(), QCMD(Q_GETQUOTA, kind), id, &quota) != 0) continue;
    const QuotaRest one = rest_of(quota);
    all = {.bytes = std::min(all.bytes, one.bytes), .files = std::min(all.files, one.files)};
  }
#endif
  return all;
}

}  // namespace headrace::system
