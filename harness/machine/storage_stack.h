// What serves the bytes of a path: its file system, and all devices, files and file systems below it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace headrace::system {

/// A loop device that reads its file through the page cache: that is a second cache, below the mounted file system's.
struct BufferedFile {
  std::string device, path;  // "loop1", "/images/data.img"
};

struct StorageStack {
  std::vector<std::string>
      layers;  // from the top: "ext4 is on loop1", "loop1 reads /images/data.img", "ext4 is on vda"
  std::vector<BufferedFile> buffered;  // whose pages may serve reads as long as they are in memory
  std::string compresses;              // the type of its file system, where that can store data compressed
  std::string not_storage;             // why bytes may come from memory, whatever is dropped; "" = disks serve them
};

/// Follows `paths` (each of a file, a folder or a block device) down to disks: partitions, device mapper, md, bcache, loop devices
/// and their files, the layers of overlay, all devices of btrfs, bcachefs and XFS. Says nothing of network and FUSE file
/// systems that they themselves are on: their clients' counters do. What cannot be seen, as in a container without /sys, is
/// `not_storage`, unless the device's name is a disk's. Never throws.
StorageStack storage_stack(std::span<const std::string> paths);

/// The same of the block device with this number ("8:1"), with /sys and /proc below `root`.
StorageStack device_stack(const std::string& number, const std::string& root = "");

/// What to do about it, in a sentence; "" where nothing reads through a second cache.
std::string why_buffered(const StorageStack& stack);

}  // namespace headrace::system
