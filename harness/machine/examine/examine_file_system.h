// An expert's checks on a network file system's client: version, requests in flight, read-ahead, request sizes, caches
// and errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/machine/examine/examine.h"
#include "harness/machine/mount.h"

namespace headrace::system {

/// The reports of a file system's client: /proc, /sys and its own files below `root` (a test has copies there).
struct ClientFiles {
  std::string root;
  std::optional<std::string> text(const std::string& path) const;
  std::optional<std::uint64_t> number(const std::string& path) const;
  std::vector<std::string> entries(const std::string& folder) const;
};

/// Findings of section "client"; none of a file system that is not a network's. All but NFS are read by their
/// documents, and were never tested on a live client: their findings note that. Never throws.
std::vector<Finding> examine_file_system(const Mount& mount, const std::string& path, const ClientFiles& files = {});

std::vector<Finding> examine_nfs(const Mount& mount, const ClientFiles& files);
std::vector<Finding> examine_lustre(const Mount& mount, const std::string& path, const ClientFiles& files);

/// How a file is spread over object storage targets: Lustre's struct lov_user_md of the attribute "lustre.lov".
struct LustreStripes {
  std::uint64_t size = 0;  // [B]
  unsigned count = 0;      // 0 = the file system's default
  bool composite = false;  // several, by how long the file is (PFL): not read further
};
std::optional<LustreStripes> parse_lustre_stripes(std::span<const unsigned char> attribute);

/// "rsize" of "rw,rsize=1048576"; "" where it is not there, or has no value.
std::string option_of(const Mount& mount, std::string_view name);
bool has_option(const Mount& mount, std::string_view name);
/// "128 KiB".
std::string size_text(std::uint64_t bytes);

}  // namespace headrace::system
