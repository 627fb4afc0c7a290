#include "harness/backends/verbs/words.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>

namespace headrace::verbs {

RunError refused(const std::string& port, const std::string& what, int code) {
  return RunError(fmt::format("{}: {}: {}", port, what, errno_text(code)));
}

RunError refused_memory(const std::string& port, std::uint64_t bytes, std::uint64_t needed_bytes, int code) {
  const RunError plain = refused(port, fmt::format("register {} bytes", bytes), code);
  rlimit limit{};
  // The driver pins some memory of its own, in addition to registered memory.
  constexpr std::uint64_t kDriver = 1u << 20;
  if ((code != ENOMEM && code != EPERM && code != EAGAIN) || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed_bytes + kDriver)
    return plain;
  const std::uint64_t kib = (needed_bytes + kDriver + 1023) / 1024;
  return RunError(
      fmt::format("{}: the limit on locked memory (memlock) is {} KiB, and {} KiB are needed. As root run `ulimit -l "
                  "{}` before starting, or set `* - memlock unlimited` in /etc/security/limits.conf, or "
                  "LimitMEMLOCK=infinity in slurmd's service",
                  plain.what(), limit.rlim_cur / 1024, kib, kib));
}

std::string completion_text(int status, unsigned mtu) {
  const char* word = ibv_wc_status_str(static_cast<ibv_wc_status>(status));
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return fmt::format(
          "{}: nothing came back from the other end. It is gone, or packets do not get there: the wrong address "
          "(gid_index), a firewall on UDP port 4791, or a switch that drops packets of {} bytes (try mtu: 1024)",
          word, mtu);
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return fmt::format("{}: the other end posted no receive in time: its program hangs, or has ended", word);
    case IBV_WC_REM_OP_ERR:
      return fmt::format("{}: the other end's queue pair has failed, or its program has ended", word);
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
      return fmt::format("{}: the other end's memory was not registered for it", word);
    case IBV_WC_WR_FLUSH_ERR:
      return fmt::format("{}: the queue pair had failed before", word);
    default:
      return fmt::format("{} ({})", word, status);
  }
}

unsigned mtu_bytes(ibv_mtu mtu) { return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0; }

ibv_mtu mtu_of(unsigned bytes) {
  unsigned mtu = IBV_MTU_256;
  while (mtu < IBV_MTU_4096 && (256u << mtu) <= bytes) ++mtu;
  return static_cast<ibv_mtu>(mtu);
}

}  // namespace headrace::verbs
