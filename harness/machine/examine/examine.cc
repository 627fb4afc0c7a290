// One function per section; each says what it saw, and gives advice only where something can be
// done.
#include "harness/machine/examine/examine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "harness/backends/loader.h"
#include "harness/base/system/installation.h"
#include "harness/base/system/kernel_features.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/system/report_python.h"
#include "harness/base/units.h"
#include "harness/machine/block_device.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/cpu.h"
#include "harness/machine/device_settings.h"
#include "harness/machine/disk_quota.h"
#include "harness/machine/limits.h"
#include "harness/machine/mount.h"
#include "harness/machine/storage_stack.h"

namespace headrace::system {
namespace {

using Level = Finding::Level;

std::string size_in_words(std::uint64_t bytes) {
  return format_quantity(static_cast<double>(bytes), Dimension::bytes, true);
}

std::string counted(unsigned count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

class Report {
 public:
  void open(std::string section) { section_ = std::move(section); }
  void add(Level level, std::string subject, std::string text, std::string advice = "") {
    findings_.push_back({level, section_, std::move(subject), std::move(text), std::move(advice)});
  }
  /// Something that is there when `reason` is "".
  void means(const std::string& subject, const std::string& text, const std::string& reason, Level otherwise,
             const std::string& advice) {
    if (reason.empty())
      add(Level::good, subject, text);
    else
      add(otherwise, subject, reason, advice);
  }
  void append(const std::vector<Finding>& more) { findings_.insert(findings_.end(), more.begin(), more.end()); }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  std::string section_;
  std::vector<Finding> findings_;
};

void governor(Report& report, const CpuFacts& facts) {
  if (facts.governor.empty())
    report.add(
        Level::note, "governor",
        facts.is_virtual ? "set by the host, not shown to a virtual machine" : "the kernel does not scale the clock");
  else if (facts.governor == "performance")
    report.add(Level::good, "governor", facts.governor);
  else
    report.add(Level::warning, "governor", facts.governor + ": the clock follows the load",
               "cpupower frequency-set -g performance");
}

void machine(Report& report, Node& node) {
  report.open("machine");
  const KernelFeatures kernel = kernel_features();
  report.add(Level::good, "kernel", fmt::format("Linux {} ({})", kernel.release, kernel.architecture));

  const CpuFacts cpu = cpu_facts();
  const unsigned usable = node.cores();
  report.add(usable < cpu.threads ? Level::note : Level::good, "cores",
             fmt::format("{} of {} threads usable; {}, {}, {}; {}", usable, cpu.threads, counted(cpu.cores, "core"),
                         counted(cpu.sockets, "socket"), counted(cpu.numa_nodes, "NUMA node"), cpu.model),
             usable < cpu.threads ? "affinity or a control group holds back the rest" : "");
  governor(report, cpu);

  const std::string info = read_text("/proc/meminfo").value_or("");
  const std::uint64_t total = 1024 * number_field(info, "MemTotal").value_or(0);
  report.add(Level::good, "memory",
             fmt::format("{}, {} available", size_in_words(total), size_in_words(node.memory_available())));

  const std::string huge = chosen_of(read_line("/sys/kernel/mm/transparent_hugepage/enabled").value_or("never"));
  const std::uint64_t reserved = number_field(info, "HugePages_Total").value_or(0);
  const std::string text = fmt::format("transparent: {}; reserved: {}", huge, reserved);
  if (huge == "never" && reserved == 0)
    report.add(Level::warning, "huge pages", text + "; direct reads will use ordinary pages and be slower",
               "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  else
    report.add(Level::good, "huge pages", text);
}

/// What loaders need whose workers are processes, and threads do not.
void process_limits(Report& report, const ProcessLimits& limits) {
  constexpr std::uint64_t kLittle = std::uint64_t{1} << 30, kFewTasks = 1024;
  constexpr const char* kMoreShared =
      "PyTorch's loader workers and NCCL pass data on through it: docker run --shm-size=16g or --ipc=host; in a pod an "
      "emptyDir of medium Memory at /dev/shm";
  const std::optional<SharedMemory>& shared = limits.shared;
  if (!shared)
    report.add(Level::warning, "shared memory", "/dev/shm is not there: no loader of several processes can run",
               "mount -t tmpfs tmpfs /dev/shm");
  else if (shared->size == Limit::kUnlimited)
    report.add(Level::good, "shared memory", "/dev/shm may take all memory");
  else
    report.add(shared->free < kLittle ? Level::warning : Level::good, "shared memory",
               fmt::format("/dev/shm has {}, {} of it free", size_in_words(shared->size), size_in_words(shared->free)),
               shared->free < kLittle ? kMoreShared : "");
  if (limits.tasks.count == Limit::kUnlimited) return report.add(Level::good, "processes", "no limit");
  const bool few = limits.tasks.count < kFewTasks;
  report.add(few ? Level::warning : Level::good, "processes",
             fmt::format("{} more processes and threads may be started ({})", limits.tasks.count, limits.tasks.by),
             few ? "each loader worker of PyTorch is a process of several threads: docker run --pids-limit, "
                   "podPidsLimit of the kubelet, TasksMax of a systemd unit, ulimit -u"
                 : "");
}

/// A soft limit each process may raise itself.
void file_limit(Report& report, const Limit& files) {
  constexpr std::uint64_t kFew = 4096;
  if (files.hard < kFew)
    report.add(Level::warning, "open files", limit_in_words(files, false),
               "loaders of many workers and shards need more: nofile in limits.conf, LimitNOFILE= of the service that "
               "starts jobs, docker run --ulimit nofile=65536");
  else if (files.soft < kFew)
    report.add(Level::note, "open files", limit_in_words(files, false),
               "ulimit -n 65536, for data sets of many shards");
  else
    report.add(Level::good, "open files", limit_in_words(files, false));
}

void control_group(Report& report) {
  report.open("limits");
  const CgroupLimits group = cgroup_limits();
  std::string text;
  if (group.tasks) text += fmt::format("{} processes and threads; ", *group.tasks);
  if (group.cores) text += fmt::format("{:.3g} cores; ", *group.cores);
  if (group.memory) text += fmt::format("{} of memory; ", size_in_words(*group.memory));
  for (const std::string& io : group.io) text += io + "; ";
  if (text.empty()) {
    report.add(Level::good, "control group",
               group.version == 0 ? "none" : "no limit on processes, cores, memory or I/O");
  } else {
    text.resize(text.size() - 2);
    report.add(Level::note, "control group", text, "results hold inside these limits only");
  }
}

void mounted(Report& report, const Mount& mount) {
  const std::string text = fmt::format("{} on {} ({}), {}", mount.type, mount.point, mount.source, mount.options);
  const std::vector<std::string> options = split(mount.options, ',');
  const auto has = [&](const char* option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  if (mount.type == "tmpfs" || mount.type == "ramfs")
    report.add(Level::warning, "file system", text,
               "this is memory: choose a folder on the storage that is to be judged");
  else if (mount.type == "overlay")
    report.add(Level::note, "file system", text, "a container's layer: mount the storage that is to be judged into it");
  else if (is_network_file_system(mount.type))
    report.add(Level::note, "file system", text,
               "the server's cache cannot be seen from here: use more data than it can hold");
  else if (has("sync") || has("dirsync"))
    report.add(Level::warning, "file system", text, "every write waits for the device: remount without sync");
  else
    report.add(Level::good, "file system", text);
}

void device(Report& report, const std::string& path) {
  const auto found = device_of(path);
  if (!found) {
    report.add(Level::note, "device", "no block device below this file system: its byte counters cannot be compared");
    return;
  }
  const DeviceSettings settings = device_settings(found->sys_path);
  std::string text = found->name;
  if (!settings.model.empty()) text += ", " + settings.model;
  if (!settings.transport.empty()) text += ", " + settings.transport;
  if (settings.size > 0) text += ", " + size_in_words(settings.size);
  if (settings.rotational) text += *settings.rotational ? ", reports rotational" : ", solid state";
  for (const std::string& member : settings.members) text += (member == settings.members[0] ? ", on " : " + ") + member;
  report.add(Level::good, "device", text);

  const bool solid = settings.rotational && !*settings.rotational;
  if (settings.logical_block && *settings.logical_block > 4096)
    report.add(Level::note, "sectors", size_in_words(*settings.logical_block),
               "direct I/O takes multiples of that; headrace's own of files ends at multiples of 4 KiB and is refused");
  if (!settings.scheduler.empty()) {
    const bool costly = solid && settings.scheduler != "none" && settings.scheduler != "mq-deadline";
    report.add(costly ? Level::warning : Level::good, "scheduler", settings.scheduler,
               costly ? fmt::format("echo none > /sys/block/{}/queue/scheduler", settings.disk) : "");
  }
  if (settings.read_ahead) {
    const std::uint64_t ahead = *settings.read_ahead;
    report.add(ahead == 0           ? Level::warning
               : ahead < (1u << 20) ? Level::note
                                    : Level::good,
               "read-ahead", ahead == 0 ? "off" : size_in_words(ahead),
               ahead < (1u << 20)
                   ? fmt::format("streams of few readers may gain: echo 4096 > /sys/block/{}/queue/read_ahead_kb",
                                 settings.disk)
                   : "");
  }
  if (settings.queue_requests) {
    std::string depth = counted(static_cast<unsigned>(*settings.queue_requests), "request");
    if (settings.device_queue) depth += fmt::format("; the device takes {}", *settings.device_queue);
    if (settings.largest_request) depth += fmt::format("; longest {}", size_in_words(*settings.largest_request));
    report.add(Level::good, "queue", depth);
  }
}

/// The layers below the file system, where it is more than a disk; bytes from memory prove nothing of storage.
void layers(Report& report, const std::string& path) {
  const StorageStack stack = storage_stack(std::vector{path});
  const std::string text = fmt::format("{}", fmt::join(stack.layers, "; "));
  if (!stack.not_storage.empty())
    report.add(Level::warning, "layers", text.empty() ? "not known" : text,
               "cold cannot be proven here: " + stack.not_storage);
  else if (!stack.buffered.empty())
    report.add(Level::note, "layers", text, why_buffered(stack));
  else if (stack.layers.size() > 1)
    report.add(Level::good, "layers", text);
  if (!stack.compresses.empty())
    report.add(Level::note, "compression",
               stack.compresses + " can store data compressed: storage then gives fewer bytes than are read",
               stack.compresses == "squashfs" ? "cold can be proven of an image that mksquashfs -noD -noF made" : "");
}

void storage(Report& report, const std::string& path, Node& node) {
  report.open("storage");
  const std::string existing = nearest_existing(path);
  if (may_write_below(path))
    report.add(Level::good, "folder", path);
  else
    report.add(Level::warning, "folder", existing + " cannot be written",
               "name a folder that can be written: headrace doctor DIR, and --at DIR where data is made");
  if (const auto mount = mount_of(path)) mounted(report, *mount);
  const std::uint64_t free = node.free_bytes(path);
  const bool tight = free < (std::uint64_t{8} << 30);
  report.add(tight ? Level::warning : Level::good, "free space", size_in_words(free),
             tight ? "cold reads need data sets larger than memory: --dry-run shows how much a config writes" : "");
  const std::uint64_t inodes = node.free_inodes(path);
  constexpr std::uint64_t kFew = 100'000;
  if (inodes != ~std::uint64_t{0})
    report.add(inodes < kFew ? Level::warning : Level::good, "free inodes", fmt::format("{} more files", inodes),
               inodes < kFew
                   ? "data sets of many files do not fit: mkfs.ext4 -N, tmpfs nr_inodes=, a quota of the owner"
                   : "");
  if (const QuotaRest quota = quota_rest(existing); quota != QuotaRest{})
    report.add(Level::note, "quota",
               fmt::format("it leaves {} and {} files",
                           quota.bytes == QuotaRest::kUnlimited ? "any number of bytes" : size_in_words(quota.bytes),
                           quota.files == QuotaRest::kUnlimited ? "any number of" : fmt::format("{}", quota.files)),
               "free space and inodes above are no more than that");
  device(report, path);
  layers(report, path);
}

void means(Report& report, Node& node) {
  report.open("measuring aids");
  const KernelFeatures kernel = kernel_features();
  report.means("cold caches", "the whole cache can be dropped (root)",
               node.is_root() ? "" : "advised away file by file and proven (not root)", Level::note, "");
  report.means("cachestat", "available", kernel.no_cachestat, Level::note,
               "mincore is used instead: slower on many files");
  report.means("I/O counters", "/proc/self/io", kernel.no_io_accounting, Level::warning,
               "cache states cannot be proven without them: needs CONFIG_TASK_IO_ACCOUNTING");
  report.means("pressure", "/proc/pressure is available: contention is detected", kernel.no_pressure, Level::note, "");
  const ReportPython python = find_report_python();
  report.means("report", "drawn by " + python.executable,
               installation().reports.empty()
                   ? "this copy of headrace has no reports folder" +
                         (installation().why.empty() ? std::string() : ": " + installation().why)
               : python.executable.empty() ? "no Python that can draw it: " + python.reason
                                           : "",
               Level::missing, "apt install python3-matplotlib python3-jinja2, or set HEADRACE_PYTHON");
}

void backends(Report& report, Node& node) {
  report.open("backends");
  for (const BackendStatus& backend : node.backends().status()) {
    if (backend.usable)
      report.add(Level::good, backend.name, backend.version.empty() ? "usable" : backend.version);
    else
      report.add(Level::missing, backend.name, backend.reason);
  }
}

}  // namespace

bool may_write_below(const std::string& path) { return access(nearest_existing(path).c_str(), W_OK | X_OK) == 0; }

std::vector<Finding> examine(const std::string& path, Node& node) {
  Report report;
  machine(report, node);
  report.append(examine_limits());
  control_group(report);
  storage(report, path, node);
  means(report, node);
  backends(report, node);
  return report.take();
}

std::vector<Finding> examine_limits(const ProcessLimits& limits) {
  Report report;
  report.open("limits");
  file_limit(report, limits.files);
  const bool little = limits.locked.soft < (64u << 20);
  report.add(little ? Level::note : Level::good, "locked memory", limit_in_words(limits.locked, true),
             little ? "ulimit -l unlimited, for registered buffers of deep queues" : "");
  process_limits(report, limits);
  return report.take();
}

}  // namespace headrace::system
