#include "harness/machine/device_settings.h"

#include <filesystem>
#include <system_error>

#include "harness/base/system/kernel_files.h"

namespace headrace::system {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> kilobytes(const std::string& path) {
  const auto value = read_number(path);
  if (!value) return std::nullopt;
  return *value * 1024;
}

std::string transport_of(const fs::path& folder, const std::string& disk) {
  std::error_code error;
  if (disk.starts_with("nvme")) return "nvme";
  if (fs::exists(folder / "dm", error)) return "device mapper";
  if (fs::exists(folder / "md", error)) return "md";
  if (disk.starts_with("loop")) return "loop";
  // The subsystem of the parent device: virtio, scsi, mmc ...
  const fs::path subsystem = fs::read_symlink(folder / "device" / "subsystem", error);
  return error ? "" : subsystem.filename().string();
}

}  // namespace

DeviceSettings device_settings(const std::string& sys_path) {
  DeviceSettings settings;
  std::error_code error;
  const fs::path device = fs::canonical(sys_path, error);
  if (error) return settings;
  fs::path folder = device;
  if (fs::exists(device / "partition", error)) folder = device.parent_path();
  settings.disk = folder.filename().string();
  const auto line = [&](const char* file) { return read_line((folder / file).string()).value_or(""); };
  settings.model = line("device/model");
  settings.firmware = line("device/firmware_rev");
  if (settings.firmware.empty()) settings.firmware = line("device/rev");
  settings.transport = transport_of(folder, settings.disk);
  settings.members = entries((folder / "slaves").string());
  settings.size = 512 * read_number((device / "size").string()).value_or(0);  // always in 512-byte sectors

  const std::string queue = (folder / "queue/").string();
  if (const auto rotational = read_number(queue + "rotational")) settings.rotational = *rotational != 0;
  settings.scheduler = chosen_of(line("queue/scheduler"));
  settings.read_ahead = kilobytes(queue + "read_ahead_kb");
  settings.queue_requests = read_number(queue + "nr_requests");
  settings.device_queue = read_number((folder / "device/queue_depth").string());
  settings.largest_request = kilobytes(queue + "max_sectors_kb");
  settings.logical_block = read_number(queue + "logical_block_size");
  settings.physical_block = read_number(queue + "physical_block_size");
  settings.write_cache = line("queue/write_cache");
  return settings;
}

}  // namespace headrace::system
