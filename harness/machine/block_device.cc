// Finds the block device of a path by its device number, and reads its counters from /sys.
#include "harness/machine/block_device.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "harness/base/counters.h"
#include "harness/base/error.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/system/open_quiet.h"
#include "harness/machine/mount.h"

namespace headrace::system {
namespace {

std::optional<BlockDevice> device_by_number(dev_t number) {
  const std::string link = "/sys/dev/block/" + std::to_string(major(number)) + ":" + std::to_string(minor(number));
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(link, failed);
  if (failed) return std::nullopt;
  return BlockDevice{real.filename().string(), link};
}

std::string option_value(std::string_view options, const std::string& key) {
  for (const std::string& one : split(options, ','))
    if (one.starts_with(key + "=")) return one.substr(key.size() + 1);
  return "";
}

std::optional<BlockDevice> device_of_existing(const std::string& path, int depth) {
  struct stat status;
  if (depth > 4 || ::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (S_ISBLK(status.st_mode)) return device_by_number(status.st_rdev);
  if (const auto direct = device_by_number(status.st_dev)) return direct;
  // btrfs, overlay and others number themselves: the mount shows the device below.
  const auto mount = mount_of(path);
  if (!mount) return std::nullopt;
  if (mount->type == "overlay") {
    // New files and copies are in the upper folder. It may belong to another mount namespace: then it is unknown.
    const std::string upper = option_value(mount->super_options, "upperdir");
    return upper.empty() ? std::nullopt : device_of_existing(upper, depth + 1);
  }
  struct stat source;
  if (mount->source.starts_with("/") && ::stat(mount->source.c_str(), &source) == 0 && S_ISBLK(source.st_mode))
    return device_by_number(source.st_rdev);
  return std::nullopt;
}

}  // namespace

std::optional<BlockDevice> device_of(const std::string& path) { return device_of_existing(nearest_existing(path), 0); }

std::string disk_number(const BlockDevice& device) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::canonical(device.sys_path, error);
  if (error) return "";
  if (std::filesystem::exists(folder / "partition", error)) folder = folder.parent_path();
  return read_line(folder / "dev").value_or("");
}

bool is_block_device(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISBLK(status.st_mode);
}

std::uint64_t device_size(const std::string& path) {
  const UniqueFd fd = open_quiet(AT_FDCWD, path.c_str());
  if (!fd) throw system_error("open", path, errno);
  std::uint64_t bytes = 0;
  if (::ioctl(fd.get(), BLKGETSIZE64, &bytes) != 0) throw system_error("size of", path, errno);
  return bytes;
}

DeviceCounters read_counters(const BlockDevice& device) {
  enum {
    reads,
    reads_merged,
    read_sectors,
    read_ms,
    writes,
    writes_merged,
    write_sectors,
    write_ms,
    in_flight,
    busy_ms,
    fields
  };
  std::array<std::uint64_t, fields> stat{};
  std::ifstream file(device.sys_path + "/stat");
  for (std::uint64_t& field : stat)
    if (!(file >> field)) return {};
  return {.read_bytes = stat[read_sectors] * kSector,
          .written_bytes = stat[write_sectors] * kSector,
          .reads = stat[reads],
          .writes = stat[writes],
          .busy_ms = stat[busy_ms]};
}

bool read_self_io(std::uint64_t& read_bytes, std::uint64_t& write_bytes) {
  const std::string text = read_text("/proc/self/io").value_or("");
  const auto read = number_field(text, "read_bytes"), write = number_field(text, "write_bytes");
  if (!read || !write) return false;
  read_bytes = *read;
  write_bytes = *write;
  return true;
}

}  // namespace headrace::system
