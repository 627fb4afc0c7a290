#include "harness/machine/cgroup.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "harness/base/system/kernel_files.h"
#include "harness/machine/mount.h"

namespace headrace::system {
namespace {

/// "No limit" in version 1 is a number near 2^63, rounded down to a page.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

/// One hierarchy: where it is mounted, and our group in it.
struct Hierarchy {
  std::string mount_point;
  std::string group;  // "" = the hierarchy's root
};

/// The folders from our group up to the hierarchy's root: a limit on any of them holds.
std::vector<std::string> levels(const Hierarchy& hierarchy) {
  std::vector<std::string> folders;
  std::string group = hierarchy.group;
  while (group.starts_with("/") && group != "/") {
    folders.push_back(hierarchy.mount_point + group);
    group.erase(group.rfind('/'));
  }
  folders.push_back(hierarchy.mount_point);
  return folders;
}

/// The hierarchy of `controller` (version 1), or of version 2 when it is "".
std::optional<Hierarchy> find_hierarchy(const std::string& root, const std::string& controller) {
  const std::vector<Mount> all = parse_mountinfo(read_text(root + "/proc/self/mountinfo").value_or(""));
  const auto mount = std::find_if(all.begin(), all.end(), [&](const Mount& m) {
    if (controller.empty()) return m.type == "cgroup2";
    const std::vector<std::string> options = split(m.super_options, ',');
    return m.type == "cgroup" && std::find(options.begin(), options.end(), controller) != options.end();
  });
  if (mount == all.end()) return std::nullopt;
  for (const std::string& line : split(read_text(root + "/proc/self/cgroup").value_or(""), '\n')) {
    // 4:memory:/job or 0::/job; the path is all that follows the second colon
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::vector<std::string> controllers = split(names, ',');
    const bool ours = controller.empty()
                          ? names.empty()
                          : std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
    if (!ours) continue;
    std::string group = line.substr(second + 1);
    // In a container the mount may start at our own group.
    if (mount->root != "/" && group.starts_with(mount->root)) group.erase(0, mount->root.size());
    return Hierarchy{root + mount->point, group == "/" ? "" : group};
  }
  return std::nullopt;
}

template <class T>
void tighten(std::optional<T>& limit, T value) {
  if (!limit || value < *limit) limit = value;
}

/// `limit` in force on `folder`, whose use is in `used` and whose page cache is reported by
/// memory.stat.
void limit_memory(CgroupLimits& limits, const std::string& folder, std::uint64_t limit, const char* used,
                  const char* inactive, const char* active) {
  if (limit >= kNoLimit) return;
  tighten(limits.memory, limit);
  const std::string stat = read_text(folder + "/memory.stat").value_or("");
  const std::uint64_t cache = number_field(stat, inactive).value_or(0) + number_field(stat, active).value_or(0);
  const std::uint64_t all = read_number(folder + "/" + used).value_or(0);
  const std::uint64_t needed = all > cache ? all - cache : 0;
  tighten(limits.memory_rest, limit > needed ? limit - needed : 0);
}

/// The same file names in both versions.
void limit_tasks(CgroupLimits& limits, const Hierarchy& hierarchy) {
  for (const std::string& folder : levels(hierarchy)) {
    const auto limit = read_number(folder + "/pids.max");  // "max" is no number
    if (!limit) continue;
    const std::uint64_t used = read_number(folder + "/pids.current").value_or(0);
    tighten(limits.tasks, *limit);
    tighten(limits.tasks_rest, *limit > used ? *limit - used : 0);
  }
}

void read_version_2(const Hierarchy& hierarchy, CgroupLimits& limits) {
  limit_tasks(limits, hierarchy);
  for (const std::string& folder : levels(hierarchy)) {
    if (const auto line = read_line(folder + "/cpu.max")) {
      const std::vector<std::string> words = split(*line, ' ');  // "200000 100000" or "max 100000"
      const double quota = std::strtod(words[0].c_str(), nullptr);
      const double period = words.size() > 1 ? std::strtod(words[1].c_str(), nullptr) : 100000;
      if (quota > 0 && period > 0) tighten(limits.cores, quota / period);
    }
    for (const char* file : {"/memory.max", "/memory.high"})
      if (const auto limit = read_number(folder + file))
        limit_memory(limits, folder, *limit, "memory.current", "inactive_file", "active_file");
    for (const std::string& line : split(read_text(folder + "/io.max").value_or(""), '\n')) limits.io.push_back(line);
  }
}

void read_version_1(const std::string& root, CgroupLimits& limits) {
  if (const auto cpu = find_hierarchy(root, "cpu")) {
    for (const std::string& folder : levels(*cpu)) {
      const auto quota = read_number(folder + "/cpu.cfs_quota_us");  // -1 = none
      const auto period = read_number(folder + "/cpu.cfs_period_us");
      if (quota && period && *quota > 0 && *period > 0)
        tighten(limits.cores, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  }
  if (const auto memory = find_hierarchy(root, "memory")) {
    limits.path = memory->group.empty() ? "/" : memory->group;
    for (const std::string& folder : levels(*memory))
      if (const auto limit = read_number(folder + "/memory.limit_in_bytes"))
        limit_memory(limits, folder, *limit, "memory.usage_in_bytes", "total_inactive_file", "total_active_file");
  }
  if (const auto tasks = find_hierarchy(root, "pids")) limit_tasks(limits, *tasks);
  if (const auto io = find_hierarchy(root, "blkio")) {
    for (const std::string& folder : levels(*io))
      for (const char* what : {"read_bps", "write_bps", "read_iops", "write_iops"})
        for (const std::string& line :
             split(read_text(folder + "/blkio.throttle." + what + "_device").value_or(""), '\n')) {
          const std::vector<std::string> words = split(line, ' ');  // "254:0 104857600"
          if (words.size() == 2) limits.io.push_back(words[0] + " " + what + "=" + words[1]);
        }
  }
}

/// The cpu.stat of our group and those around it, and the key in it with its unit.
struct ThrottleFiles {
  std::vector<std::string> files;
  const char* key = "";
  double unit_s = 0;
};

ThrottleFiles throttle_files(const std::string& root) {
  ThrottleFiles found;
  auto hierarchy = find_hierarchy(root, "cpu");
  found.key = "throttled_time";  // version 1: ns
  found.unit_s = 1e-9;
  if (!hierarchy) {
    hierarchy = find_hierarchy(root, "");
    found.key = "throttled_usec";
    found.unit_s = 1e-6;
  }
  if (!hierarchy) return found;
  for (const std::string& folder : levels(*hierarchy)) found.files.push_back(folder + "/cpu.stat");
  return found;
}

}  // namespace

IoLimits io_limits(const CgroupLimits& limits, std::string_view device_number) {
  IoLimits found;
  // Names of version 2 and of version 1.
  const std::pair<std::string_view, double&> keys[] = {
      {"rbps", found.read_bytes},    {"read_bps", found.read_bytes},
      {"wbps", found.written_bytes}, {"write_bps", found.written_bytes},
      {"riops", found.reads},        {"read_iops", found.reads},
      {"wiops", found.writes},       {"write_iops", found.writes}};
  for (const std::string& line : limits.io) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.empty() || words[0] != device_number) continue;
    for (const std::string& word : words)
      for (const auto& [key, least] : keys)
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
          if (const double value = std::strtod(word.c_str() + key.size() + 1, nullptr); value > 0)  // "max" is none
            least = std::min(least, value);
  }
  return found;
}

std::optional<double> throttled_seconds(const std::string& root) {
  static const ThrottleFiles ours = throttle_files("");  // a process rarely changes its group
  const ThrottleFiles files = root.empty() ? ours : throttle_files(root);
  std::optional<double> sum;
  for (const std::string& file : files.files) {
    if (const auto n = number_field(read_text(file).value_or(""), files.key))
      sum = sum.value_or(0) + static_cast<double>(*n) * files.unit_s;
  }
  return sum;
}

CgroupLimits cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  if (const auto unified = find_hierarchy(root, "")) {
    limits.version = 2;
    limits.path = unified->group.empty() ? "/" : unified->group;
    read_version_2(*unified, limits);
  }
  constexpr const char* kControllers[] = {"cpu", "memory", "blkio", "pids"};
  if (std::ranges::any_of(kControllers, [&root](const char* name) { return find_hierarchy(root, name).has_value(); })) {
    limits.version = 1;
    read_version_1(root, limits);
  }
  return limits;
}

}  // namespace headrace::system
