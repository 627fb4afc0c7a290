#include "harness/system/client_counters.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "harness/system/kernel_files.h"

namespace headrace::system {
namespace {

bool is_nfs(const Mount& mount) { return mount.type == "nfs" || mount.type == "nfs4"; }

bool is_juicefs(const Mount& mount) { return mount.type == "fuse.juicefs"; }

std::optional<std::uint64_t> number(const std::vector<std::string>& words, std::size_t at) {
  if (at >= words.size()) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = words[at].data() + words[at].size();
  const auto [rest, error] = std::from_chars(words[at].data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

/// "fsname-OST0000-osc-ffff8801...": the clients of a file system mounted from "mgs@tcp:/fsname".
std::string lustre_name(const Mount& mount) { return mount.source.substr(mount.source.rfind('/') + 1); }

std::optional<ClientCounters> read_lustre(const Mount& mount) {
  namespace fs = std::filesystem;
  const std::string begin = lustre_name(mount) + "-OST";
  ClientCounters all;
  bool any = false;
  for (const char* folder : {"/sys/kernel/debug/lustre/osc", "/proc/fs/lustre/osc"}) {
    std::error_code error;
    for (const auto& client : fs::directory_iterator(folder, error)) {
      if (!client.path().filename().string().starts_with(begin)) continue;
      const auto text = read_text((client.path() / "stats").string());
      if (!text) return std::nullopt;
      all.read_bytes += parse_lustre_stats(*text).value_or(0);  // none before the first read
      any = true;
    }
    if (any) return all;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ClientCounters> parse_mountstats(std::string_view text, std::string_view point) {
  // device server:/export mounted on /mnt with fstype nfs4 statvers=1.1
  //   bytes:  normal-read normal-written direct-read direct-written from-server to-server
  //   pages-read pages-written per-op statistics
  //        GETATTR: 12 ...
  constexpr std::size_t kFromServer = 5;
  std::optional<ClientCounters> found;
  bool here = false, operations = false;
  for (const std::string& line : split(text, '\n')) {
    std::string tidy(trim(line));
    std::replace(tidy.begin(), tidy.end(), '\t', ' ');
    const std::vector<std::string> words = split(tidy, ' ');
    if (words.empty()) continue;
    if (words[0] == "device") {
      here = words.size() > 4 && words[4] == point;
      operations = false;
      if (here) found.reset();  // of two mounts on one point the later one hides the earlier
    } else if (here && words[0] == "bytes:") {
      if (const auto bytes = number(words, kFromServer)) found = ClientCounters{*bytes, 0};
    } else if (here && tidy == "per-op statistics") {
      operations = true;
    } else if (here && found && operations && words[0] != "READ:" && words[0] != "WRITE:" && words[0] != "NULL:") {
      found->requests += number(words, 1).value_or(0);
    }
  }
  return found;
}

std::optional<std::uint64_t> parse_lustre_stats(std::string_view text) {
  constexpr std::size_t kSum = 6;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (!words.empty() && words[0] == "read_bytes") return number(words, kSum);
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

std::optional<ClientCounters> read_client_counters(const Mount& mount) {
  if (is_nfs(mount)) return parse_mountstats(read_text("/proc/self/mountstats").value_or(""), mount.point);
  if (mount.type == "lustre") return read_lustre(mount);
  if (is_juicefs(mount)) {
    if (const auto got = parse_juicefs_stats(read_text(mount.point + "/.stats").value_or("")))
      return ClientCounters{*got, 0};
  }
  return std::nullopt;
}

std::string client_counters_of(const Mount& mount) {
  if (is_nfs(mount)) return "mountstats";
  if (is_juicefs(mount)) return ".stats";
  return mount.type == "lustre" ? "osc stats" : "";
}

}  // namespace headrace::system
