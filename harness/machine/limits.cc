#include "harness/machine/limits.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "harness/base/system/kernel_files.h"
#include "harness/base/system/list_names.h"
#include "harness/base/units.h"
#include "harness/machine/cgroup.h"

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
  // At its limit a process cannot count its open files.
  const bool full = list_names(AT_FDCWD, "/proc/self/fd", names) == EMFILE;
  const rlim_t open = full ? limit.rlim_cur : names.size();
  if (limit.rlim_cur < open + more && limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = std::min<rlim_t>(open + more, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur > open ? limit.rlim_cur - open : 0;
}

std::optional<SharedMemory> shared_memory(const std::string& path) {
  struct statvfs info {};
  std::error_code none;
  if (!std::filesystem::is_directory(path, none) || statvfs(path.c_str(), &info) != 0) return std::nullopt;
  if (info.f_blocks == 0) return SharedMemory{Limit::kUnlimited, Limit::kUnlimited};  // mounted with size=0
  return SharedMemory{std::uint64_t{info.f_blocks} * info.f_frsize, std::uint64_t{info.f_bavail} * info.f_frsize};
}

namespace {

/// Threads of the processes with this user id.
std::uint64_t tasks_of(uid_t user, const std::string& root) {
  std::uint64_t all = 0;
  std::vector<std::string> names;
  list_names(AT_FDCWD, (root + "/proc").c_str(), names);
  for (const std::string& name : names) {
    const std::string status = read_text(root + "/proc/" + name + "/status").value_or("");
    if (number_field(status, "Uid:") == user) all += number_field(status, "Threads:").value_or(0);
  }
  return all;
}

/// "0.5 0.4 0.3 2/345 1234": of all users.
std::uint64_t tasks_of_all(const std::string& root) {
  const std::string line = read_line(root + "/proc/loadavg").value_or("");
  const std::size_t slash = line.find('/');
  return slash == std::string::npos ? 0 : std::strtoull(line.c_str() + slash + 1, nullptr, 10);
}

}  // namespace

TasksLeft tasks_left(const std::string& root) {
  TasksLeft left;
  const auto hold = [&left](std::uint64_t limit, std::uint64_t used, const char* by) {
    const std::uint64_t rest = limit > used ? limit - used : 0;
    if (limit != Limit::kUnlimited && rest < left.count) left = {rest, by};
  };
  for (const char* file : {"threads-max", "pid_max"})
    if (const auto limit = read_number(root + "/proc/sys/kernel/" + file))
      hold(*limit, tasks_of_all(root), file[0] == 't' ? "kernel.threads-max" : "kernel.pid_max");
  const std::uint64_t own = limit_of(RLIMIT_NPROC).soft;
  if (geteuid() != 0 && own != 0 && own != Limit::kUnlimited) hold(own, tasks_of(getuid(), root), "ulimit -u");
  const CgroupLimits group = cgroup_limits(root);
  if (group.tasks_rest) hold(*group.tasks_rest, 0, "pids.max of the control group");
  return left;
}

std::string limit_in_words(const Limit& limit, bool bytes) {
  const auto word = [&](std::uint64_t value) -> std::string {
    if (value == Limit::kUnlimited) return "unlimited";
    return bytes ? format_quantity(static_cast<double>(value), Dimension::bytes, true) : std::to_string(value);
  };
  if (limit.soft == limit.hard) return word(limit.soft);
  return word(limit.soft) + " (up to " + word(limit.hard) + ")";
}

namespace {

/// In a user namespace a process has capabilities that the kernel's drivers do not accept.
bool is_first_user_namespace(const std::string& root) {
  const auto words = split(read_line(root + "/proc/self/uid_map").value_or(""), ' ');
  constexpr std::uint64_t kAll = 4294967295;
  return words.empty() || number_at(words, 2) == kAll;
}

}  // namespace

bool may_lock_all_memory(const std::string& root) {
  const auto set = field(read_text(root + "/proc/self/status").value_or(""), "CapEff");
  const std::uint64_t bits = set ? std::strtoull(set->c_str(), nullptr, 16) : 0;
  return (bits >> CAP_IPC_LOCK & 1) != 0 && is_first_user_namespace(root);
}

}  // namespace headrace::system
