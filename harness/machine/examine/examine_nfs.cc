// NFS. Sources: nfs(5), nfsrahead(5), the kernel's admin-guide/kernel-parameters (nfs.max_session_slots,
// sunrpc.tcp_max_slot_table_entries).
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/system/kernel_files.h"
#include "harness/base/units.h"
#include "harness/machine/examine/examine_file_system.h"
#include "harness/machine/nfs_stats.h"

namespace headrace::system {
namespace {

using Level = Finding::Level;

std::uint64_t number_of(const std::string& text, std::uint64_t otherwise) {
  return number_at({text}, 0).value_or(otherwise);
}

Finding how_mounted(const Mount& mount, std::uint64_t connections, std::uint64_t request) {
  const std::string protocol = option_of(mount, "proto");
  const std::string text =
      fmt::format("version {} over {}, {} connection{}, reads of at most {}", option_of(mount, "vers"), protocol,
                  connections, connections == 1 ? "" : "s", size_text(request));
  if (has_option(mount, "soft"))
    return {Level::warning, "client", "NFS", text + ", soft",
            "where the server is slow, reads fail and writes are lost: mount with hard (nfs(5))"};
  if (protocol == "udp")
    return {Level::warning, "client", "NFS", text, "lost packets corrupt large requests: proto=tcp (nfs(5))"};
  if (connections == 1 && protocol == "tcp")
    return {Level::note, "client", "NFS", text,
            "one TCP connection seldom fills a fast link: nconnect=8 at the first mount of this server, which decides "
            "for all "
            "(nfs(5))"};
  if (request < (1u << 20))
    return {Level::note, "client", "NFS", text,
            "rsize=1048576, where the server allows it: each request costs a round trip (nfs(5))"};
  return {Level::good, "client", "NFS", text, ""};
}

std::optional<Finding> read_ahead(const Mount& mount, const ClientFiles& files) {
  const std::string file = fmt::format("/sys/class/bdi/{}/read_ahead_kb", mount.device);
  const auto kib = files.number(file);
  if (!kib) return std::nullopt;
  const bool little = *kib < 1024;
  return Finding{
      little ? Level::note : Level::good, "client", "read-ahead", size_text(*kib << 10),
      little ? fmt::format("kernels since 5.4 begin with 128 KiB: nfsrahead(5), or echo 15360 > {}", file) : ""};
}

/// How many requests can be under way, and their rate at the round trip seen so far.
Finding requests(const Mount& mount, const ClientFiles& files, const NfsStats* stats, std::uint64_t connections,
                 std::uint64_t request) {
  const bool rdma = option_of(mount, "proto") == "rdma";
  const std::string slots_of = rdma ? "rdma_slot_table_entries" : "tcp_max_slot_table_entries";
  const std::uint64_t slots = files.number("/proc/sys/sunrpc/" + slots_of).value_or(rdma ? 128 : 65536);
  const std::string version = option_of(mount, "vers");
  const bool sessions = version.starts_with("4.") && version != "4.0";
  const std::uint64_t session = files.number("/sys/module/nfs/parameters/max_session_slots").value_or(64);
  const std::uint64_t most = sessions ? std::min(session, slots * connections) : slots * connections;
  std::string text = fmt::format("at most {} under way ({} x {} {}", most, connections, slots, slots_of);
  text += sessions ? fmt::format("; max_session_slots {})", session) : ")";
  const NfsOperation* read = nullptr;
  if (stats != nullptr)
    for (const NfsOperation& one : stats->operations)
      if (one.name == "READ") read = &one;
  if (read != nullptr && read->round_trip_ms > 0) {
    const double round_trip_s = 1e-3 * static_cast<double>(read->round_trip_ms) / static_cast<double>(read->requests);
    const double most_rate = static_cast<double>(most) * static_cast<double>(request) / round_trip_s;
    text += fmt::format("; reads took {:.3g} ms each so far, at which they carry {} at most", round_trip_s * 1e3,
                        format_quantity(most_rate, Dimension::bytes_per_second));
  }
  const NfsTransports none, &seen = stats != nullptr ? stats->transports : none;
  const bool waited = seen.waiting_sum > 0 || (seen.most_slots > 0 && seen.most_slots * connections >= most);
  if (waited)
    return {Level::warning, "client", "requests", text + "; some waited for a slot",
            sessions && session <= slots * connections
                ? "options nfs max_session_slots=180 in /etc/modprobe.d, before the mount (kernel-parameters)"
                : fmt::format("sunrpc.{} in /etc/sysctl.d, before the mount (nfs(5))", slots_of)};
  return {Level::good, "client", "requests", text, ""};
}

}  // namespace

std::vector<Finding> examine_nfs(const Mount& mount, const ClientFiles& files) {
  const auto stats = parse_mountstats(files.text("/proc/self/mountstats").value_or(""), mount.point);
  const std::uint64_t reported = number_of(option_of(mount, "nconnect"), 1);
  const std::uint64_t connections =
      stats && stats->transports.connections > 0 ? stats->transports.connections : reported;
  const std::uint64_t request = number_of(option_of(mount, "rsize"), 0);
  std::vector<Finding> findings{how_mounted(mount, connections, request)};
  if (auto ahead = read_ahead(mount, files)) findings.push_back(std::move(*ahead));
  findings.push_back(requests(mount, files, stats ? &*stats : nullptr, connections, request));
  return findings;
}

}  // namespace headrace::system
