// How a file system stores a file's bytes: as they are, or compressed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace::system {

/// Types of file systems of block devices that can store data compressed: "btrfs", "squashfs", "erofs" ...
bool can_compress(std::string_view type);

/// Bytes of the file in extents that are stored in another form, compressed or encrypted (FIEMAP_EXTENT_ENCODED). 0
/// where the file system does not show extents.
std::uint64_t encoded_bytes(int fd);

struct StoredAs {
  std::uint64_t compressed = 0;         // of the file's bytes, those that are stored compressed; of squashfs all may be
  std::optional<std::uint64_t> stored;  // bytes on storage of the whole file; nothing: not reported
};
/// Asks EROFS (the inode's blocks), btrfs (its extents; how many bytes only root may ask), f2fs, bcachefs and NTFS
/// (extents). overlay passes the question on. Of other file systems nothing is compressed.
StoredAs stored_as(int fd, const struct stat& status);

}  // namespace headrace::system
