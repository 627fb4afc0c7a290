#include "harness/machine/mount.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "harness/base/system/kernel_files.h"

namespace headrace::system {
namespace {

/// `first` and the parts of `second` that it does not have.
std::string united(const std::string& first, const std::string& second) {
  const std::vector<std::string> known = split(first, ',');
  std::string all = first;
  for (const std::string& option : split(second, ','))
    if (std::find(known.begin(), known.end(), option) == known.end()) all += "," + option;
  return all;
}

bool is_below(const std::string& path, const std::string& folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

std::string unescape_octal(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t n) {
      return i + n < text.size() && text[i + n] >= '0' && text[i + n] <= '7' ? text[i + n] - '0' : -1;
    };
    if (text[i] == '\\' && digit(1) >= 0 && digit(2) >= 0 && digit(3) >= 0) {
      plain += static_cast<char>(digit(1) * 64 + digit(2) * 8 + digit(3));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<Mount> parse_mountinfo(std::string_view text) {
  std::vector<Mount> all;
  for (const std::string& line : split(text, '\n')) {
    // 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 6 || words.end() - dash < 4) continue;
    Mount mount;
    mount.device = words[2];
    mount.root = unescape_octal(words[3]);
    mount.point = unescape_octal(words[4]);
    mount.type = dash[1];
    mount.source = unescape_octal(dash[2]);
    mount.super_options = dash[3];
    mount.options = united(words[5], dash[3]);
    all.push_back(std::move(mount));
  }
  return all;
}

std::vector<Mount> mounts() { return parse_mountinfo(read_text("/proc/self/mountinfo").value_or("")); }

std::optional<Mount> mount_of(const std::string& path) {
  const std::string existing = nearest_existing(path);
  std::optional<Mount> best;
  // The later one of two mounts on one point hides the earlier.
  for (Mount& mount : mounts())
    if (is_below(existing, mount.point) && (!best || mount.point.size() >= best->point.size())) best = std::move(mount);
  return best;
}

std::string nearest_existing(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path here = fs::absolute(path.empty() ? "." : path, error);
  while (!fs::exists(here, error) && here.has_relative_path()) here = here.parent_path();
  const fs::path real = fs::canonical(here, error);
  return error ? here.string() : real.string();
}

bool is_network_file_system(std::string_view type) {
  constexpr std::array<std::string_view, 24> kNetwork{
      "nfs",   "nfs4",       "cifs",           "smb3",      "smbfs",        "ceph",     "fuse.ceph", "afs",
      "coda",  "glusterfs",  "fuse.glusterfs", "lustre",    "gpfs",         "beegfs",   "wekafs",    "pvfs2",
      "panfs", "fuse.sshfs", "fuse.rclone",    "fuse.s3fs", "fuse.juicefs", "fuse.mfs", "9p",        "virtiofs"};
  return std::find(kNetwork.begin(), kNetwork.end(), type) != kNetwork.end();
}

bool is_local_file_system(std::string_view type) {
  constexpr std::array<std::string_view, 6> kShared{"gfs2", "ocfs2", "erofs", "squashfs", "iso9660", "udf"};
  if (std::find(kShared.begin(), kShared.end(), type) != kShared.end()) return false;
  return type == "zfs" || is_memory_file_system(type) || is_counted_file_system(type);
}

bool is_memory_file_system(std::string_view type) {
  return type == "tmpfs" || type == "ramfs" || type == "hugetlbfs" || type == "devtmpfs" || type == "rootfs";
}

bool is_counted_file_system(std::string_view type) {
  constexpr std::array<std::string_view, 26> kCounted{
      "ext2",     "ext3",    "ext4", "xfs",   "btrfs",    "f2fs",    "overlay", "bcachefs", "jfs",
      "reiserfs", "nilfs2",  "gfs2", "ocfs2", "vfat",     "msdos",   "exfat",   "ntfs",     "ntfs3",
      "hfs",      "hfsplus", "ufs",  "erofs", "squashfs", "iso9660", "udf",     "minix"};
  return std::find(kCounted.begin(), kCounted.end(), type) != kCounted.end();
}

}  // namespace headrace::system
