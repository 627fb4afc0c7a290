// The layers that serve the bytes of a path: its file system, and everything below it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace headrace::system {

/// A loop device that reads its file through the page cache: a second cache, below the mounted file system's.
struct BufferedFile {
  std::string device, path;  // "loop1", "/images/data.img"
};

struct StorageStack {
  std::vector<std::string>
      layers;  // from the top: "ext4 is on loop1", "loop1 reads /images/data.img", "ext4 is on vda"
  std::vector<BufferedFile> buffered;  // whose pages may serve reads as long as they are in memory
  std::string compresses;              // the type of its file system, where that can store data compressed
  std::string not_storage;             // why memory may serve them after a drop of caches; "" = disks do
};

/// Follows `paths` (each of a file, a folder or a block device) down to disks. It passes partitions, device mapper, md,
/// bcache, loop devices and their files. It also passes layers of overlay, and all devices of btrfs, bcachefs and XFS.
/// Reports nothing on network and FUSE file systems that hold the paths themselves: their clients' counters do. A
/// device that cannot be seen, as in a container without /sys, is `not_storage`, unless its name is a disk's. Never
/// throws.
StorageStack storage_stack(std::span<const std::string> paths);

/// The same of the block device with this number ("8:1"), with /sys and /proc below `root`.
StorageStack device_stack(const std::string& number, const std::string& root = "");

/// The remedy, in a sentence; "" where nothing reads through a second cache.
std::string why_buffered(const StorageStack& stack);

}  // namespace headrace::system
