// What the client of a network file system has asked of its servers: reads that its own cache
// served are not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/system/mount.h"

namespace headrace::system {

/// Since the mount, of all processes of this machine.
struct ClientCounters {
  std::uint64_t read_bytes = 0;
  std::uint64_t requests = 0;  // for names and attributes; 0 where the client does not count them
};

/// Of the NFS mount at `point`, from /proc/self/mountstats: "bytes:" has what came from the server,
/// "per-op statistics" the requests.
std::optional<ClientCounters> parse_mountstats(std::string_view text, std::string_view point);

/// "read_bytes" of one Lustre object storage client's stats: RPCs to the servers, "read_bytes 31
/// samples [bytes] 4096 4194304 61865984".
std::optional<std::uint64_t> parse_lustre_stats(std::string_view text);

/// What a JuiceFS client's `.stats` in its mount says it got from the object store:
/// "juicefs_object_request_data_bytes_GET 1048576". Parsed, never run here.
std::optional<std::uint64_t> parse_juicefs_stats(std::string_view text);

/// Nothing where the file system has no such counters, or they cannot be read.
std::optional<ClientCounters> read_client_counters(const Mount& mount);

/// Where read_client_counters() looks: "mountstats", "osc stats", ".stats"; "" where it has nowhere to.
std::string client_counters_of(const Mount& mount);

}  // namespace headrace::system
