// Which client it is, and the file systems that need few words.
#include "harness/machine/examine/examine_file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "harness/base/system/kernel_files.h"
#include "harness/base/units.h"
#include "harness/machine/client_counters.h"

namespace headrace::system {
namespace {

using Level = Finding::Level;

/// "key value", "key = value", "key : value": the value in the first line that has the key.
std::optional<std::string> value_of(std::string_view text, std::string_view key) {
  for (const std::string& line : split(text, '\n')) {
    const std::string_view tidy = trim(line);
    if (!tidy.starts_with(key)) continue;
    const std::string_view rest = tidy.substr(key.size());
    if (rest.empty() || std::string_view(" \t=:").find(rest.front()) == std::string_view::npos) continue;
    const auto begin = rest.find_first_not_of(" \t=:");
    return begin == std::string_view::npos ? "" : std::string(trim(rest.substr(begin)));
  }
  return std::nullopt;
}

void add(std::vector<Finding>& all, bool good, const char* subject, std::string text, const char* advice) {
  all.push_back({good ? Level::good : Level::note, "client", subject, std::move(text), good ? "" : advice});
}

/// Sources: mount.ceph(8); the kernel's fs/ceph/debugfs.c.
std::vector<Finding> ceph(const Mount& mount, const ClientFiles& files) {
  std::vector<Finding> all;
  const std::string reported = option_of(mount, "rasize");
  const std::uint64_t ahead = number_at({reported}, 0).value_or(8u << 20);
  add(all, ahead >= (8u << 20), "CephFS",
      fmt::format("read-ahead {}{}", size_text(ahead), reported.empty() ? " (rasize is the kernel's own)" : ""),
      "rasize=67108864 for streams of shards (mount.ceph(8))");
  const std::string client = ceph_client_of(files.entries("/sys/kernel/debug/ceph"), mount.source);
  add(all, !client.empty(), "counters", client.empty() ? "debugfs has no entry of this mount" : "debugfs, " + client,
      "cold is not provable without them: as root, with debugfs mounted, one CephFS client on the node");
  return all;
}

/// Source: IBM Storage Scale, mmchconfig; the node's own copy of the cluster's configuration.
std::vector<Finding> gpfs(const ClientFiles& files) {
  std::vector<Finding> all;
  const auto text = files.text("/var/mmfs/gen/mmfs.cfg");
  if (!text) {
    add(all, false, "GPFS", "/var/mmfs/gen/mmfs.cfg cannot be read", "as root; or mmdiag --config");
    return all;
  }
  const auto said = [&](const char* key) { return value_of(*text, key).value_or("the default"); };
  add(all, value_of(*text, "pagepool").has_value(), "GPFS",
      fmt::format("pagepool {}, maxFilesToCache {}, maxMBpS {}", said("pagepool"), said("maxFilesToCache"),
                  said("maxMBpS")),
      "the default pagepool is small for read-ahead: mmchconfig pagepool=16G -i (mmchconfig)");
  const std::string rdma = said("verbsRdma");
  add(all, rdma == "enable", "RDMA", "verbsRdma " + rdma,
      "where the servers have InfiniBand or RoCE: mmchconfig verbsRdma=enable (mmchconfig)");
  return all;
}

/// Source: comments of beegfs-client.conf.
std::vector<Finding> beegfs(const ClientFiles& files) {
  std::vector<Finding> all;
  for (const std::string& client : files.entries("/proc/fs/beegfs")) {
    const auto text = files.text("/proc/fs/beegfs/" + client + "/config");
    if (!text) continue;
    const auto said = [&](const char* key) { return value_of(*text, key).value_or("not reported"); };
    const std::string cache = said("tuneFileCacheType"), connections = said("connMaxInternodeNum");
    add(all, cache == "native", "BeeGFS", "tuneFileCacheType " + cache,
        "buffered keeps little for each file, outside the page cache: native, where files are read again "
        "(beegfs-client.conf)");
    add(all, number_at({connections}, 0).value_or(0) >= 12, "connections",
        fmt::format("connMaxInternodeNum {}, connUseRDMA {}", connections, said("connUseRDMA")),
        "each request holds one: at least the readers of a node (beegfs-client.conf)");
    break;
  }
  return all;
}

/// Source: WEKA's guide, mount options of the client.
std::vector<Finding> weka(const Mount& mount) {
  std::vector<Finding> all;
  const char* mode = has_option(mount, "forcedirect") ? "forcedirect"
                     : has_option(mount, "readcache") ? "readcache"
                                                      : "writecache";
  const std::string ahead = option_of(mount, "readahead_kb");
  add(all, true, "Weka", fmt::format("{}, readahead_kb {}", mode, ahead.empty() ? "not reported" : ahead), "");
  add(all, false, "cores", "not reported by the mount",
      "weka local resources: num_cores, and a net= for each NIC, or it goes through the kernel's UDP (WEKA's guide)");
  return all;
}

/// Source: JuiceFS's guide to monitoring and cache.
std::vector<Finding> juicefs(const Mount& mount, const ClientFiles& files) {
  std::vector<Finding> all;
  const auto text = files.text(mount.point + "/.stats");
  if (!text) {
    add(all, false, "JuiceFS", ".stats of the mount cannot be read", "cold is not provable without it");
    return all;
  }
  const auto number = [&](const char* key) { return std::atof(value_of(*text, key).value_or("0").c_str()); };
  const double hits = number("juicefs_blockcache_hits"), misses = number("juicefs_blockcache_miss");
  const double hit_share = hits + misses > 0 ? hits / (hits + misses) : 0;
  add(all, true, "JuiceFS",
      fmt::format("cache holds {}, served {:.3g} % of the blocks so far",
                  size_text(static_cast<std::uint64_t>(std::max(0.0, number("juicefs_blockcache_bytes")))),
                  100 * hit_share),
      "");
  return all;
}

/// Source: NVIDIA's guide to GPUDirect Storage (cufile.json).
void gpudirect(std::vector<Finding>& all, const ClientFiles& files) {
  const char* own = std::getenv("CUFILE_ENV_PATH_JSON");
  const std::string path = own != nullptr ? own : "/etc/cufile.json";
  const auto text = files.text(path);
  if (!text) return;
  for (const std::string& line : split(*text, '\n')) {
    std::string_view tidy = trim(line);
    tidy = tidy.substr(0, tidy.find("//"));
    if (!tidy.starts_with("\"allow_compat_mode\"")) continue;
    const bool hides = tidy.find("true") != std::string_view::npos;
    add(all, !hides, "GDS", fmt::format("allow_compat_mode {} in {}", hides, path),
        "reads that cannot go direct go through memory in silence: false while it is measured (GPUDirect Storage "
        "guide)");
    if (hides) return;
  }
}

}  // namespace

std::optional<std::string> ClientFiles::text(const std::string& path) const { return read_text(root + path); }
std::optional<std::uint64_t> ClientFiles::number(const std::string& path) const { return read_number(root + path); }
std::vector<std::string> ClientFiles::entries(const std::string& folder) const {
  return system::entries(root + folder);
}

std::string option_of(const Mount& mount, std::string_view name) {
  for (const std::string& option : split(mount.options, ','))
    if (option.starts_with(name) && option.size() > name.size() && option[name.size()] == '=')
      return option.substr(name.size() + 1);
  return "";
}

bool has_option(const Mount& mount, std::string_view name) {
  const std::vector<std::string> options = split(mount.options, ',');
  return std::find(options.begin(), options.end(), name) != options.end();
}

std::string size_text(std::uint64_t bytes) {
  return format_quantity(static_cast<double>(bytes), Dimension::bytes, true);
}

std::vector<Finding> examine_file_system(const Mount& mount, const std::string& path, const ClientFiles& files) {
  if (mount.type == "nfs" || mount.type == "nfs4") return examine_nfs(mount, files);
  std::vector<Finding> all;
  if (mount.type == "lustre") all = examine_lustre(mount, path, files);
  if (mount.type == "ceph") all = ceph(mount, files);
  if (mount.type == "gpfs") all = gpfs(files);
  if (mount.type == "beegfs") all = beegfs(files);
  if (mount.type == "wekafs") all = weka(mount);
  if (mount.type == "fuse.juicefs") all = juicefs(mount, files);
  if (!all.empty()) gpudirect(all, files);
  for (Finding& one : all) one.text += " (parsed, never run here)";
  return all;
}

}  // namespace headrace::system
