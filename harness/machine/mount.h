// The mounted file system that a path is on, as /proc/self/mountinfo reports it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::system {

struct Mount {
  std::string point;          // "/data"
  std::string root;           // which folder of the file system is mounted there, usually "/"
  std::string type;           // "ext4", "nfs4", "fuse.sshfs"
  std::string source;         // "/dev/vda1", "server:/export"
  std::string options;        // of the mount and of the file system, each once: "rw,relatime,errors=remount-ro"
  std::string device;         // "254:0" (major:minor)
  std::string super_options;  // of the file system alone, as written
};

/// All mounts in the order of `text`, the content of a mountinfo file; octal escapes are undone.
std::vector<Mount> parse_mountinfo(std::string_view text);

/// "\040" is a blank: the kernel writes blanks, tabs, line ends and backslashes of paths in octal.
std::string unescape_octal(std::string_view text);

/// The mounts of this process.
std::vector<Mount> mounts();

/// The mount that holds `path` or its nearest existing parent. Nothing when /proc is not there.
std::optional<Mount> mount_of(const std::string& path);

/// `path` itself, or the nearest parent that exists; absolute, links resolved.
std::string nearest_existing(const std::string& path);

/// True when reads of this type travel over a network, so that this machine's cache is not the only
/// one.
bool is_network_file_system(std::string_view type);

/// True when only this machine reads files of this type: on its own block devices or in its memory. Not types that
/// several machines may share, nor read-only images, which may be files of another file system.
bool is_local_file_system(std::string_view type);

/// True when files of this type are in memory, with no storage below.
bool is_memory_file_system(std::string_view type);

/// True when the kernel reads files of this type itself, through its page cache and from this machine's block device.
/// /proc/self/io then counts a process's reads of storage. Of an unknown type, the cache of its client or daemon is not
/// seen.
bool is_counted_file_system(std::string_view type);

}  // namespace headrace::system
