// Sources: the kernel's Documentation/filesystems/fiemap.rst; fs/erofs/inode.c (i_blocks of compressed files); btrfs_tree.h
// and BTRFS_IOC_TREE_SEARCH_V2, as compsize(8) uses them.
#include "harness/machine/file_extents.h"

#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace headrace::system {
namespace {

constexpr long kErofs = 0xe0f5e1e2, kF2fs = 0xf2f52010, kBcachefs = 0xca451a4e,
               kNtfs3 = 0x7366746e;       // not in every <linux/magic.h>
constexpr unsigned kExtents = 128;        // of one call
constexpr std::size_t kItems = 64 << 10;  // [B] of one call

long type_of(int fd) {
  struct statfs status;
  return ::fstatfs(fd, &status) == 0 ? static_cast<long>(static_cast<std::uint32_t>(status.f_type)) : 0;
}

/// The size of one item of a btrfs inode on storage [B].
std::uint64_t stored_in(const btrfs_ioctl_search_header& header, const unsigned char* item) {
  btrfs_file_extent_item extent{};
  std::memcpy(&extent, item, std::min<std::size_t>(header.len, sizeof extent));
  constexpr std::size_t kInline = offsetof(btrfs_file_extent_item, disk_bytenr);
  if (extent.type == BTRFS_FILE_EXTENT_INLINE) return header.len > kInline ? header.len - kInline : 0;
  if (header.len < sizeof extent || extent.disk_bytenr == 0 || extent.ram_bytes == 0) return 0;
  // A partly shared extent counts with the share of its bytes.
  const double share = std::min(1.0, static_cast<double>(extent.num_bytes) / static_cast<double>(extent.ram_bytes));
  return static_cast<std::uint64_t>(share * static_cast<double>(extent.disk_num_bytes));
}

std::optional<std::uint64_t> stored_by_btrfs(int fd, std::uint64_t inode) {
  std::vector<unsigned char> memory(sizeof(btrfs_ioctl_search_args_v2) + kItems);
  auto* const args = reinterpret_cast<btrfs_ioctl_search_args_v2*>(memory.data());
  btrfs_ioctl_search_key key{};
  key.min_objectid = key.max_objectid = inode;
  key.min_type = key.max_type = BTRFS_EXTENT_DATA_KEY;
  key.max_offset = key.max_transid = UINT64_MAX;
  std::uint64_t all = 0;
  for (;;) {
    args->key = key;
    args->key.nr_items = UINT32_MAX;
    args->buf_size = kItems;
    if (::ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, args) != 0) return std::nullopt;
    if (args->key.nr_items == 0) return all;
    const unsigned char* at = memory.data() + sizeof *args;
    for (std::uint32_t i = 0; i < args->key.nr_items; ++i) {
      btrfs_ioctl_search_header header;
      std::memcpy(&header, at, sizeof header);
      at += sizeof header;
      all += stored_in(header, at);
      at += header.len;
      if (header.offset == UINT64_MAX) return all;
      key.min_offset = header.offset + 1;
    }
  }
}

}  // namespace

bool can_compress(std::string_view type) {
  constexpr std::array<std::string_view, 6> kAll{"btrfs", "squashfs", "erofs", "f2fs", "bcachefs", "ntfs3"};
  return std::find(kAll.begin(), kAll.end(), type) != kAll.end();
}

std::uint64_t encoded_bytes(int fd) {
  std::vector<unsigned char> memory(sizeof(fiemap) + kExtents * sizeof(fiemap_extent));
  auto* const map = reinterpret_cast<fiemap*>(memory.data());
  std::uint64_t at = 0, encoded = 0;
  for (;;) {
    std::memset(map, 0, sizeof *map);
    map->fm_start = at;
    map->fm_length = UINT64_MAX - at;
    map->fm_extent_count = kExtents;
    if (::ioctl(fd, FS_IOC_FIEMAP, map) != 0 || map->fm_mapped_extents == 0) return encoded;
    for (unsigned i = 0; i < map->fm_mapped_extents; ++i) {
      const fiemap_extent& extent = map->fm_extents[i];
      if ((extent.fe_flags & FIEMAP_EXTENT_ENCODED) != 0) encoded += extent.fe_length;
      if ((extent.fe_flags & FIEMAP_EXTENT_LAST) != 0 || extent.fe_logical + extent.fe_length <= at) return encoded;
      at = extent.fe_logical + extent.fe_length;
    }
  }
}

StoredAs stored_as(int fd, const struct stat& status) {
  const auto size = static_cast<std::uint64_t>(status.st_size),
             blocks = static_cast<std::uint64_t>(status.st_blocks) * 512;
  StoredAs found;
  switch (type_of(fd)) {
    case SQUASHFS_MAGIC:
      found.compressed = size;
      return found;
    case kErofs:  // no blocks: its bytes are in another inode, with those of others
      if (blocks < size) found.compressed = size;
      if (blocks > 0 && blocks < size) found.stored = blocks;
      return found;
    case BTRFS_SUPER_MAGIC:
      found.compressed = encoded_bytes(fd);
      if (found.compressed > 0) found.stored = stored_by_btrfs(fd, status.st_ino);
      return found;
    case kF2fs:
    case kBcachefs:
    case kNtfs3:
    case OVERLAYFS_SUPER_MAGIC:
      found.compressed = encoded_bytes(fd);
      return found;
    default:
      return found;
  }
}

}  // namespace headrace::system
