#include "harness/machine/client_counters.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "harness/base/system/kernel_files.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::system {

namespace {

constexpr double kMicrosecond = 1e-6;

std::optional<double> real_at(const std::vector<std::string>& words, std::size_t at) {
  if (at >= words.size()) return std::nullopt;
  double value = 0;
  const char* end = words[at].data() + words[at].size();
  const auto [rest, error] = std::from_chars(words[at].data(), end, value);
  if (error != std::errc() || rest != end || !(value >= 0)) return std::nullopt;
  return value;
}

ClientRequests& kind(ClientRequestTable& all, std::string_view name) {
  const auto known = std::ranges::find(all.kinds, name, &ClientRequests::name);
  if (known != all.kinds.end()) return *known;
  return all.kinds.emplace_back(ClientRequests{std::string(name)});
}

void leave_out_unused(ClientRequestTable& all) {
  std::erase_if(all.kinds, [](const ClientRequests& one) { return one.count == 0; });
}

}  // namespace

void add_lustre_requests(std::string_view text, ClientRequestTable& all) {
  constexpr std::size_t kCount = 1, kUnit = 3, kSum = 6;
  ++all.connections;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto count = number_at(words, kCount);
    const auto sum = real_at(words, kSum);
    if (!count || !sum || words[2] != "samples") continue;
    if (words[0] == "req_active") {
      all.sent += *count;
      all.in_flight_sum += *sum;
    } else if (words[kUnit] == "[usec]" && !words[0].starts_with("req_")) {  // those are of all kinds together
      ClientRequests& one = kind(all, words[0]);
      one.count += *count;
      one.round_trip_s += kMicrosecond * *sum;
    }
  }
  leave_out_unused(all);
}

ClientRequestTable parse_juicefs_requests(std::string_view text) {
  constexpr std::string_view kObject = "juicefs_object_request_durations_histogram_seconds_",
                             kMeta = "juicefs_meta_ops_durations_histogram_seconds_", kTotal = "_total", kSum = "_sum";
  ClientRequestTable all;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto value = real_at(words, 1);
    if (!value || words.size() != 2) continue;
    const std::string_view name = words[0];
    const bool total = name.ends_with(kTotal), sum = name.ends_with(kSum);
    std::string what;
    if (name.starts_with(kObject) && (total || sum))
      what = "object " + std::string(name.substr(kObject.size(), name.rfind('_') - kObject.size()));
    else if (name == std::string(kMeta) + "total" || name == std::string(kMeta) + "sum")
      what = "metadata";
    else
      continue;
    ClientRequests& one = kind(all, what);
    if (total)
      one.count = static_cast<std::uint64_t>(*value);
    else
      one.round_trip_s = *value;
  }
  leave_out_unused(all);
  return all;
}

ClientRequestTable parse_ceph_requests(std::string_view text) {
  ClientRequestTable all;
  bool latencies = false;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.empty()) continue;
    if (words[0] == "item") {
      latencies = words.size() > 2 && words[2] == "avg_lat(us)";
      continue;
    }
    const auto count = number_at(words, 1), mean = number_at(words, 2);
    if (!latencies || !count || !mean) continue;
    ClientRequests& one = kind(all, words[0]);
    one.count = *count;
    one.round_trip_s = kMicrosecond * static_cast<double>(*count) * static_cast<double>(*mean);
  }
  leave_out_unused(all);
  return all;
}

namespace {

bool is_nfs(const Mount& mount) { return mount.type == "nfs" || mount.type == "nfs4"; }

bool is_ceph(const Mount& mount) { return mount.type == "ceph"; }

bool is_juicefs(const Mount& mount) { return mount.type == "fuse.juicefs"; }

/// "fsname-OST0000-osc-ffff8801...": the clients of a file system mounted from "mgs@tcp:/fsname".
std::string lustre_name(const Mount& mount) { return mount.source.substr(mount.source.rfind('/') + 1); }

std::optional<ClientCounters> read_lustre(const Mount& mount) {
  const std::string begin = lustre_name(mount) + "-OST";
  ClientCounters all;
  bool any = false;
  for (const char* folder : {"/sys/kernel/debug/lustre/osc", "/proc/fs/lustre/osc"}) {
    for (const std::string& client : entries(folder)) {
      if (!client.starts_with(begin)) continue;
      const auto text = read_text(std::string(folder) + "/" + client + "/stats");
      if (!text) return std::nullopt;
      all.read_bytes += parse_lustre_stats(*text).value_or(0);  // none before the first read
      add_lustre_requests(*text, all.asked);
      any = true;
    }
    if (any) return all;
  }
  return std::nullopt;
}

std::optional<ClientCounters> read_ceph(const Mount& mount) {
  const std::string folder = "/sys/kernel/debug/ceph";
  const std::string client = ceph_client_of(entries(folder), mount.source);
  if (client.empty()) return std::nullopt;
  const std::string metrics = folder + "/" + client + "/metrics";
  auto text = read_text(metrics + "/size"), times = read_text(metrics + "/latency");
  if (!text) text = times = read_text(metrics);
  const auto bytes = parse_ceph_sizes(text.value_or(""));
  if (!bytes) return std::nullopt;
  return ClientCounters{.read_bytes = *bytes, .asked = parse_ceph_requests(times.value_or(""))};
}

}  // namespace

std::optional<std::uint64_t> parse_lustre_stats(std::string_view text) {
  constexpr std::size_t kSum = 6;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (!words.empty() && words[0] == "read_bytes") return number_at(words, kSum);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_juicefs_stats(std::string_view text) {
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() != 2 || words[0] != "juicefs_object_request_data_bytes_GET") continue;
    double value = 0;  // counters of Prometheus: large ones may have an exponent
    const char* end = words[1].data() + words[1].size();
    const auto [rest, error] = std::from_chars(words[1].data(), end, value);
    if (error == std::errc() && rest == end && value >= 0) return static_cast<std::uint64_t>(value);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_ceph_sizes(std::string_view text) {
  constexpr std::size_t kTotalSize = 5;
  bool sizes = false;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.empty()) continue;
    if (words[0] == "item") sizes = words.back() == "total_sz(bytes)";
    if (sizes && words[0] == "read") return number_at(words, kTotalSize);
  }
  return std::nullopt;
}

std::string ceph_client_of(const std::vector<std::string>& folders, std::string_view source) {
  if (folders.size() == 1) return folders.front();
  std::string found;
  for (const std::string& folder : folders) {
    const std::string fsid = folder.substr(0, folder.find('.'));
    if (fsid.empty() || source.find(fsid) == std::string_view::npos) continue;
    if (!found.empty()) return "";
    found = folder;
  }
  return found;
}

std::optional<ClientCounters> read_client_counters(const Mount& mount) {
  if (is_nfs(mount)) {
    auto stats = parse_mountstats(read_text("/proc/self/mountstats").value_or(""), mount.point);
    if (!stats) return std::nullopt;
    return ClientCounters{.read_bytes = stats->read_bytes, .requests = stats->name_requests, .nfs = std::move(stats)};
  }
  if (is_ceph(mount)) return read_ceph(mount);
  if (mount.type == "lustre") return read_lustre(mount);
  if (is_juicefs(mount)) {
    const std::string text = read_text(mount.point + "/.stats").value_or("");
    if (const auto got = parse_juicefs_stats(text))
      return ClientCounters{.read_bytes = *got, .asked = parse_juicefs_requests(text)};
  }
  return std::nullopt;
}

std::string client_counters_of(const Mount& mount) {
  if (is_nfs(mount)) return "mountstats";
  if (is_juicefs(mount)) return ".stats";
  if (is_ceph(mount)) return "ceph metrics";
  return mount.type == "lustre" ? "osc stats" : "";
}

std::string_view why_not_counted(const Mount& mount) {
  if (mount.type == "gpfs") return "mmpmon's _br_ counts reads from its pagepool, too";
  if (mount.type == "zfs") return "ZFS reads through a cache of its own (ARC), and may store data compressed";
  if (mount.type == "fuse.glusterfs") return "io-stats counts what programs read, above its caches";
  if (mount.type == "fuse" && mount.source.starts_with("mfs#"))
    return "MooseFS's .stats count operations of programs, no bytes of chunk servers";
  return "";
}

bool is_fuse(const Mount& mount) {
  return mount.type == "fuse" || mount.type == "fuseblk" || mount.type.starts_with("fuse.");
}

FuseQueue::FuseQueue(const Mount& mount, const std::string& connections) {
  unsigned major = 0, minor = 0;
  const char* const end = mount.device.data() + mount.device.size();
  const auto [colon, wrong] = std::from_chars(mount.device.data(), end, major);
  if (!is_fuse(mount) || wrong != std::errc{} || colon == end ||
      std::from_chars(colon + 1, end, minor).ec != std::errc{})
    return;
  // A connection is called by its file system's device, as the kernel holds its number.
  path_ = connections + "/" + std::to_string(major << 20 | minor) + "/waiting";
}

std::optional<unsigned> FuseQueue::waiting() const noexcept {
  if (path_.empty()) return std::nullopt;
  // It can be read once: the kernel knows no places in it.
  const UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  char text[32];
  const ssize_t got = file ? ::read(file.get(), text, sizeof text) : -1;
  unsigned count = 0;
  if (got <= 0 || std::from_chars(text, text + got, count).ec != std::errc{}) return std::nullopt;
  return count;
}

}  // namespace headrace::system
