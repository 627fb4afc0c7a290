#include "harness/observe/learning/wait.h"

#include <sys/syscall.h>

#include <charconv>

namespace headrace::observe {

std::string_view to_string(Wait wait) {
  static constexpr std::array<std::string_view, kWaits> kWords{
      "running",   "storage_read",     "storage_names", "storage_write", "page_fault",
      "hand_over", "interpreter_lock", "gpu",           "sleep",         "other"};
  return kWords[static_cast<std::size_t>(wait)];
}

std::optional<SyscallLine> parse_syscall(std::string_view line) noexcept {
  SyscallLine found;
  if (line.starts_with("running")) {
    found.running = true;
    return found;
  }
  const char* const end = line.data() + line.size();
  auto [at, error] = std::from_chars(line.data(), end, found.number);
  if (error != std::errc{}) return std::nullopt;
  if (found.number < 0) return found;  // followed by the stack's and the program's place alone
  for (std::uint64_t& argument : found.arguments) {
    if (!std::string_view(at, end).starts_with(" 0x")) return std::nullopt;
    const auto [next, wrong] = std::from_chars(at + 3, end, argument, 16);
    if (wrong != std::errc{}) return std::nullopt;
    at = next;
  }
  return found;
}

FdKind fd_kind(std::string_view link) noexcept {
  for (const std::string_view ipc : {"pipe:", "socket:", "anon_inode:"})
    if (link.starts_with(ipc)) return FdKind::hand_over;
  if (!link.starts_with("/")) return FdKind::unknown;
  for (const std::string_view gpu : {"/dev/nvidia", "/dev/kfd", "/dev/dri/"})
    if (link.starts_with(gpu)) return FdKind::gpu;
  if (link.starts_with("/memfd:") || link.starts_with("/dev/zero")) return FdKind::memory;
  if (link.starts_with("/dev/shm/")) return FdKind::file;  // a file system like others: data may be there, too
  if (link.starts_with("/dev/")) {
    for (const std::string_view disk : {"/dev/sd", "/dev/nvme", "/dev/vd", "/dev/xvd", "/dev/loop", "/dev/dm-",
                                        "/dev/mapper/", "/dev/md", "/dev/mmcblk"})
      if (link.starts_with(disk)) return FdKind::file;
    return FdKind::device;
  }
  for (const std::string_view kernel : {"/proc/", "/sys/"})
    if (link.starts_with(kernel)) return FdKind::device;
  return FdKind::file;
}

CallKind call_kind(long number) noexcept {
  switch (number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
#ifdef SYS_sendfile
    case SYS_sendfile:  // its second argument is the source; the target is the requested one
#endif
      return CallKind::read;
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
      return CallKind::write;
#ifdef SYS_open
    case SYS_open:
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
    case SYS_readlink:
    case SYS_getdents:
#endif
    case SYS_openat:
#ifdef SYS_openat2
    case SYS_openat2:
#endif
#ifdef SYS_newfstatat
    case SYS_newfstatat:
#endif
    case SYS_fstat:
    case SYS_statx:
    case SYS_statfs:
    case SYS_fstatfs:
    case SYS_faccessat:
#ifdef SYS_faccessat2
    case SYS_faccessat2:
#endif
    case SYS_readlinkat:
    case SYS_getdents64:
    case SYS_close:
    case SYS_lseek:
    case SYS_getxattr:
    case SYS_lgetxattr:
    case SYS_fgetxattr:
    case SYS_chdir:
      return CallKind::name;
#ifdef SYS_rename
    case SYS_rename:
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_rmdir:
    case SYS_link:
    case SYS_symlink:
    case SYS_creat:
    case SYS_chmod:
#endif
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_linkat:
    case SYS_truncate:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync:
    case SYS_syncfs:
    case SYS_sync_file_range:
    case SYS_msync:
    case SYS_copy_file_range:
      return CallKind::change;
    case SYS_futex:
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
    case SYS_flock:
      return CallKind::hand_over;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return CallKind::sleep;
    case SYS_ioctl:
      return CallKind::ioctl;
    case SYS_io_getevents:
#ifdef SYS_io_uring_enter
    case SYS_io_uring_enter:
#endif
      return CallKind::files_in_flight;
    default:
      return CallKind::other;
  }
}

PathArgument path_argument(long number) noexcept {
  switch (number) {
#ifdef SYS_open
    case SYS_open:
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
      return {.folder = -1, .path = 0};
#endif
    case SYS_openat:
#ifdef SYS_newfstatat
    case SYS_newfstatat:
#endif
    case SYS_statx:
    case SYS_faccessat:
      return {.folder = 0, .path = 1};
    default:
      return {};
  }
}

bool is_futex(long number) noexcept { return number == SYS_futex; }

bool is_poll(long number) noexcept {
#ifdef SYS_poll
  if (number == SYS_poll) return true;
#endif
  return number == SYS_ppoll;
}

Wait wait_of(CallKind kind, FdKind fd) noexcept {
  switch (kind) {
    case CallKind::read:
    case CallKind::write:
      if (fd == FdKind::file) return kind == CallKind::read ? Wait::read : Wait::write;
      if (fd == FdKind::hand_over) return Wait::hand_over;
      return fd == FdKind::gpu ? Wait::gpu : Wait::other;
    case CallKind::ioctl:
      return fd == FdKind::gpu ? Wait::gpu : Wait::other;
    case CallKind::name:
      return Wait::name;
    case CallKind::change:
      return Wait::write;
    case CallKind::hand_over:
      return Wait::hand_over;
    case CallKind::sleep:
      return Wait::sleep;
    case CallKind::files_in_flight:
      return Wait::read;
    case CallKind::other:
      break;
  }
  return Wait::other;
}

}  // namespace headrace::observe
