// The block device under a path, and its counters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headrace::system {

struct BlockDevice {
  std::string name;      // "nvme0n1", "vda"; whole disk or partition as the kernel names it in /sys/block
  std::string sys_path;  // "/sys/dev/block/254:0"
};

/// The device under the file system of `path` (nearest existing parent); nothing for tmpfs, NFS, overlay without one.
std::optional<BlockDevice> device_of(const std::string& path);

/// "254:0": the number of the disk, also where the device is a partition of it; "" where there is none.
std::string disk_number(const BlockDevice& device);

/// Is `path` (links followed) a block device? False also when it is not there.
bool is_block_device(const std::string& path);
/// Its size [B], by BLKGETSIZE64. Opens it for reading. Throws RunError.
std::uint64_t device_size(const std::string& path);

struct DeviceCounters {
  std::uint64_t read_bytes = 0, written_bytes = 0;
  std::uint64_t reads = 0, writes = 0;
  std::uint64_t busy_ms = 0;
};
/// From the device's `stat` file (512-byte sectors). Zeros when it cannot be read.
DeviceCounters read_counters(const BlockDevice& device);

/// /proc/self/io read_bytes and write_bytes: this process's requests to storage. False when the kernel has none.
bool read_self_io(std::uint64_t& read_bytes, std::uint64_t& write_bytes);

}  // namespace headrace::system
