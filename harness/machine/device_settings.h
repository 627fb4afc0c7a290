// How the kernel drives a block device: its kind, its queue, its read-ahead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::system {

struct DeviceSettings {
  std::string disk;   // the whole disk of a partition; the device's own name otherwise
  std::string model;  // "SAMSUNG MZQL23T8HCLS-00A07"; "" when not reported (virtio)
  std::string firmware;
  std::string transport;             // "nvme", "virtio", "scsi", "device mapper", "md"
  std::vector<std::string> members;  // the devices below a mapped or md device
  std::uint64_t size = 0;            // [B]
  std::optional<bool> rotational;
  std::string scheduler;                         // the one in force: "none", "mq-deadline"
  std::optional<std::uint64_t> read_ahead;       // [B]
  std::optional<std::uint64_t> queue_requests;   // nr_requests: requests that the block layer keeps per queue
  std::optional<std::uint64_t> device_queue;     // commands that the device takes, where the driver reports (SCSI)
  std::optional<std::uint64_t> largest_request;  // max_sectors_kb [B]: longer reads are cut
  std::optional<std::uint64_t> logical_block, physical_block;  // [B]
  std::string write_cache;                                     // "write back", "write through"
};

/// The settings of the device with the sysfs folder `sys_path` ("/sys/dev/block/254:0"); a partition's queue is its
/// disk's. Unreported values stay empty.
DeviceSettings device_settings(const std::string& sys_path);

}  // namespace headrace::system
