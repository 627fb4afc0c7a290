// Sources: the kernel's Documentation/ABI/stable/sysfs-block, drivers/block/loop.c, fs/btrfs/sysfs.c, drivers/nvdimm/bus.c.
#include "harness/machine/storage_stack.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/base/counters.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/system/open_quiet.h"
#include "harness/machine/file_extents.h"
#include "harness/machine/mount.h"

namespace headrace::system {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVirtual = "/devices/virtual/block/";

/// Drivers in software that have nothing below them that /sys shows. The first that a device's name begins with counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kInSoftware{
    {{"zram", "keeps its blocks compressed in memory"},
     {"ram", "keeps its blocks in memory"},
     {"nullb", "keeps no blocks on storage"},
     {"nbd", "reads from a server, whose cache is not seen from here"},
     {"zd", "reads through the cache of ZFS in memory (ARC)"},
     {"ublkb", "reads from a program, whose cache is not seen from here"},
     {"", "is made by a driver in software, and /sys does not show what it reads from"}}};

/// SCSI disks that the kernel itself plays (scsi_debug, LIO), by their model.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPlayed{
    {{"scsi_debug", "keeps its blocks in memory"},
     {"RAMDISK-MCP", "keeps its blocks in memory"},
     {"FILEIO", "reads a file through a page cache that is not seen from here"}}};

/// Names of devices of which only /sys shows the devices below.
constexpr std::array<std::string_view, 10> kStacked{"loop", "zram",   "ram", "nbd",  "dm-",
                                                    "md",   "bcache", "zd",  "ublk", "nullb"};

std::string number_of(dev_t device) { return fmt::format("{}:{}", major(device), minor(device)); }

std::string name_of(const fs::path& folder) { return folder.filename().string(); }

std::optional<fs::path> resolved(const fs::path& path) {
  std::error_code failed;
  fs::path real = fs::canonical(path, failed);
  return failed ? std::nullopt : std::optional(std::move(real));
}

/// The name that /proc/partitions has for "8:1"; "" where it has none.
std::string name_in_partitions(std::string_view text, const std::string& number) {
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() == 4 && words[0] + ":" + words[1] == number) return words[3];
  }
  return "";
}

/// Folders that overlay's options name: "lowerdir=/a:/b\:c,upperdir=/d", and each alone as "lowerdir+=/a".
std::vector<std::string> overlay_folders(const Mount& mount) {
  std::vector<std::string> folders;
  for (const std::string& option : split(mount.super_options, ',')) {
    const std::size_t equals = option.find('=');
    const std::string_view key = std::string_view(option).substr(0, equals);
    if (equals == option.npos || !(key.starts_with("lowerdir") || key == "upperdir" || key == "datadir+")) continue;
    const std::string value = unescape_octal(option.substr(equals + 1));
    std::string folder;
    for (std::size_t i = 0; i <= value.size(); ++i) {
      const bool escaped = i + 1 < value.size() && value[i] == '\\';
      if (i == value.size() || (key == "lowerdir" && value[i] == ':')) {
        if (!folder.empty()) folders.push_back(std::exchange(folder, ""));
      } else {
        folder += escaped ? value[++i] : value[i];
      }
    }
  }
  return folders;
}

std::string option_value(const Mount& mount, std::string_view key) {
  for (const std::string& option : split(mount.super_options, ','))
    if (option.starts_with(key) && option.size() > key.size() && option[key.size()] == '=')
      return unescape_octal(option.substr(key.size() + 1));
  return "";
}

/// File systems whose server is another machine, as a rule: its cache is beyond this one's memory.
bool is_remote(std::string_view type) {
  return is_network_file_system(type) && !type.starts_with("fuse") && type != "9p" && type != "virtiofs";
}

class Walk {
 public:
  explicit Walk(std::string root = "") : root_(std::move(root)) {}

  /// `reader`: its reader, as the begin of a sentence; "" at the top.
  void path(const std::string& path, const std::string& reader) {
    const std::string existing = nearest_existing(path);
    struct stat status;
    if (::stat(existing.c_str(), &status) != 0)
      return doubt(fmt::format("{}{} cannot be followed to its storage", reader, path));
    if (S_ISBLK(status.st_mode)) return number(number_of(status.st_rdev), existing);
    if (!file_systems_.insert(status.st_dev).second) return;
    if (const auto mount = mount_of(existing)) return file_system(*mount, number_of(status.st_dev), reader);
    doubt(fmt::format("{}/proc does not show which file system {} is on", reader, path));
  }

  /// `known_as`: another name of the device: a mount's source, or "".
  void number(const std::string& number, const std::string& known_as) {
    if (const auto folder = resolved(fs::path(root_ + "/sys/dev/block") / number)) return disk(*folder);
    std::string name = name_in_partitions(read_text(root_ + "/proc/partitions").value_or(""), number);
    if (name.empty() && known_as.starts_with("/dev/")) name = fs::path(known_as).filename().string();
    const bool stacked =
        std::any_of(kStacked.begin(), kStacked.end(), [&](auto begin) { return name.starts_with(begin); });
    if (name.empty() || stacked || known_as.starts_with("/dev/mapper/"))
      doubt(fmt::format("/sys does not show the devices below {}", name.empty() ? "device " + number : name));
  }

  StorageStack take() { return std::move(stack_); }

 private:
  void doubt(std::string why) {
    if (stack_.not_storage.empty()) stack_.not_storage = std::move(why);
  }

  void layer(std::string text) {
    if (std::find(stack_.layers.begin(), stack_.layers.end(), text) == stack_.layers.end())
      stack_.layers.push_back(std::move(text));
  }

  void file_system(const Mount& mount, const std::string& number, const std::string& reader) {
    if (is_memory_file_system(mount.type)) {
      layer(mount.type + " is in memory");
      return doubt(fmt::format("{}{} keeps files in memory: there is no storage below it", reader, mount.type));
    }
    if (mount.type == "overlay") return overlay(mount);
    if (files_ == 0 && can_compress(mount.type)) stack_.compresses = mount.type;
    if (is_counted_file_system(mount.type)) return local(mount, number);
    layer(fmt::format("{} is on {}", mount.type, mount.source));
    if (!reader.empty() && !is_remote(mount.type))
      doubt(fmt::format("{}what {} keeps in memory is not seen from here", reader, mount.type));
  }

  void overlay(const Mount& mount) {
    bool hidden = false;
    const std::vector<std::string> folders = overlay_folders(mount);
    layer(fmt::format("overlay is on {}", fmt::join(folders, ", ")));
    for (const std::string& folder : folders) {
      struct stat status;
      // As the mounter saw them: relative ones, and those of another mount namespace, are useless here.
      if (folder.starts_with("/") && ::stat(folder.c_str(), &status) == 0)
        path(folder, fmt::format("overlay reads {}, and ", folder));
      else
        hidden = true;
    }
    if (hidden || folders.empty()) look_for_memory_devices();
  }

  /// Where the device is unknown: any that serves bytes from memory may be it.
  void look_for_memory_devices() {
    const std::vector<std::string> devices = entries(root_ + "/sys/block");
    for (const std::string& device : devices) {
      const std::string folder = root_ + "/sys/block/" + device;
      const bool is_used =
          read_number(folder + "/size").value_or(0) > 0 && read_number(folder + "/stat").value_or(0) > 0;
      if (!is_used) continue;  // no size, or nothing was read
      Walk own(root_);
      if (const auto real = resolved(folder)) own.disk(*real);
      if (!own.stack_.not_storage.empty() || !own.stack_.buffered.empty())
        return doubt(fmt::format(
            "overlay's layers cannot be seen from here, and may be on {}, which serves bytes from memory: mount the "
            "storage itself (into the container)",
            device));
    }
    if (devices.empty())
      doubt(
          "overlay's layers and this machine's devices cannot be seen from here: mount the storage into the container");
  }

  /// The kernel reads it from devices of this machine or, of EROFS, from a file.
  void local(const Mount& mount, const std::string& number) {
    std::vector<std::string> sources = several_sources(mount);
    const auto own = resolved(fs::path(root_ + "/sys/dev/block") / number);
    struct stat status {};
    const bool is_there = sources.empty() && !own && ::stat(mount.source.c_str(), &status) == 0;
    if (is_there && S_ISREG(status.st_mode)) return image(mount);
    if (is_there && S_ISBLK(status.st_mode)) sources = {mount.source};
    std::vector<std::string> names;
    for (const std::string& source : sources) names.push_back(kernel_name(source));
    if (sources.empty()) names.push_back(own ? name_of(*own) : mount.source);
    layer(fmt::format("{} is on {}", mount.type, fmt::join(names, ", ")));
    if (sources.empty()) return this->number(number, mount.source);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto folder = resolved(root_ + "/sys/class/block/" + names[i]);
      folder ? disk(*folder) : this->number(mount.device, sources[i]);
    }
  }

  /// EROFS reads the mounted file itself.
  void image(const Mount& mount) {
    const std::vector<std::string> options = split(mount.options, ',');
    const bool direct = std::find(options.begin(), options.end(), "directio") != options.end();
    layer(fmt::format("{} reads {}{}", mount.type, mount.source, direct ? "" : " through the page cache"));
    if (!direct) stack_.buffered.push_back({mount.type, mount.source});
    below(mount.type, mount.source);
  }

  /// The file system of a file that a device or a file system reads.
  void below(const std::string& reader, const std::string& file) {
    ++files_;
    path(file, fmt::format("{} reads {}, and ", reader, file));
    --files_;
  }

  /// The devices of file systems that have several; empty: the mount has one.
  std::vector<std::string> several_sources(const Mount& mount) const {
    if (mount.type == "bcachefs") return split(mount.source, ':');
    if (const std::string data = option_value(mount, "rtdev"); mount.type == "xfs" && !data.empty())
      return {mount.source, data};
    if (mount.type != "btrfs") return {};
    const std::string own = kernel_name(mount.source), all = root_ + "/sys/fs/btrfs/";
    for (const std::string& uuid : entries(all)) {
      const std::vector<std::string> devices = entries(all + uuid + "/devices");
      if (std::find(devices.begin(), devices.end(), own) != devices.end()) return devices;
    }
    return {mount.source};
  }

  /// "dm-0" of "/dev/mapper/data", "sda" of "/dev/sda" and of "sda", as far as /dev or /sys know it.
  std::string kernel_name(const std::string& source) const {
    struct stat status;
    if (::stat(source.c_str(), &status) == 0 && S_ISBLK(status.st_mode))
      if (const auto folder = resolved(fs::path(root_ + "/sys/dev/block") / number_of(status.st_rdev)))
        return name_of(*folder);
    std::string last = fs::path(source).filename().string();
    for (const std::string& device : entries(root_ + "/sys/block"))
      if (read_line(root_ + "/sys/block/" + device + "/dm/name") == last) return device;
    return last;
  }

  /// `folder` is the device's own below /sys/devices.
  void disk(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(folder / "partition", error)) return disk(folder.parent_path());
    const std::string name = name_of(folder);
    if (!seen_.insert(name).second) return;
    if (fs::exists(folder / "loop" / "backing_file", error)) return loop(folder, name);
    const std::vector<fs::path> below = members(folder);
    std::vector<std::string> names;
    for (const fs::path& member : below) names.push_back(name_of(member));
    if (!below.empty()) layer(fmt::format("{} is on {}", name, fmt::join(names, ", ")));
    for (const fs::path& member : below) disk(member);
    if (below.empty()) last(folder, name);
  }

  /// The parts of device mapper, md and bcache.
  std::vector<fs::path> members(const fs::path& folder) const {
    std::vector<fs::path> all;
    const auto add = [&all](const fs::path& link) {
      if (const auto real = resolved(link)) all.push_back(*real);
    };
    for (const std::string& slave : entries((folder / "slaves").string())) add(folder / "slaves" / slave);
    // "bcache" is the backing device's folder of that name. "cache" in it is the set's, with a link to each cache's.
    if (!name_of(folder).starts_with("bcache")) return all;  // the backing device has that folder, too
    const fs::path set = folder / "bcache" / "cache";
    for (const std::string& cache : entries(set.string())) {
      if (!cache.starts_with("cache") || cache.find_first_of("0123456789") != 5) continue;
      if (const auto own = resolved(set / cache)) all.push_back(own->parent_path());
    }
    return all;
  }

  void loop(const fs::path& folder, const std::string& name) {
    std::string file = read_text((folder / "loop" / "backing_file").string()).value_or("");
    if (file.ends_with('\n')) file.pop_back();
    if (file.ends_with(" (deleted)"))
      return doubt(fmt::format("{} reads {}, which has no name any more: where it is cannot be seen", name, file));
    if (!is_that_file(folder, file))
      return doubt(fmt::format("{} reads {}, which cannot be seen from here: mount it where it can", name, file));
    const UniqueFd fd = open_quiet(AT_FDCWD, file.c_str());
    // Direct reads of extents that are stored in another form go through the page cache all the same.
    const bool direct = read_number((folder / "loop" / "dio").string()) == 1u && !(fd && encoded_bytes(fd.get()) > 0);
    layer(fmt::format("{} reads {}{}", name, file, direct ? "" : " through the page cache"));
    if (!direct) stack_.buffered.push_back({name, file});
    below(name, file);
  }

  /// Another mount namespace may have another file of that name: at least the size must fit.
  bool is_that_file(const fs::path& folder, const std::string& file) const {
    struct stat status;
    if (::stat(file.c_str(), &status) != 0) return false;
    if (!S_ISREG(status.st_mode)) return S_ISBLK(status.st_mode);
    const auto number = [&](const char* name) { return read_number((folder / name).string()).value_or(0); };
    return static_cast<std::uint64_t>(status.st_size) >= number("loop/offset") + number("size") * kSector;
  }

  /// Nothing that /sys knows is below it.
  void last(const fs::path& folder, const std::string& name) {
    const auto line = [&](const char* file) { return read_line((folder / file).string()).value_or(""); };
    const std::string model = line("device/model");
    for (const auto& [played, what] : kPlayed)
      if (model == played) doubt(fmt::format("{} ({}) {}", name, model, what));
    if (name.starts_with("nvme") && line("device/transport") == "loop")
      doubt(fmt::format("{} is served by this machine itself (NVMe over loop)", name));
    if (name.starts_with("pmem") && !is_on_modules(folder))
      doubt(fmt::format("{} is memory that is called persistent: no non-volatile module is below it", name));
    if (folder.string().find(kVirtual) == std::string::npos) return;
    for (const auto& [begin, what] : kInSoftware)
      if (name.starts_with(begin)) return doubt(fmt::format("{} {}", name, what));
  }

  /// Persistent memory: of modules that the firmware lists, or a part of ordinary memory (memmap=, virtio).
  bool is_on_modules(const fs::path& folder) const {
    const auto device = resolved(folder / "device");
    if (!device) return false;
    for (fs::path at = *device; at.has_relative_path(); at = at.parent_path())
      if (const auto provider = read_line((at / "provider").string())) return provider->starts_with("ACPI.NFIT");
    return false;
  }

  std::string root_;
  StorageStack stack_;
  std::set<std::string> seen_;  // devices
  std::set<dev_t> file_systems_;
  unsigned files_ = 0;  // between the path and here
};

}  // namespace

StorageStack storage_stack(std::span<const std::string> paths) {
  Walk walk;
  for (const std::string& path : paths) walk.path(path, "");
  return walk.take();
}

StorageStack device_stack(const std::string& number, const std::string& root) {
  Walk walk(root);
  walk.number(number, "");
  return walk.take();
}

std::string why_buffered(const StorageStack& stack) {
  if (stack.buffered.empty()) return "";
  const BufferedFile& first = stack.buffered.front();
  return fmt::format("{} reads {} through the page cache, which may serve its bytes: {}", first.device, first.path,
                     first.device.starts_with("loop") ? fmt::format("losetup --direct-io=on /dev/{}", first.device)
                                                      : std::string("mount it with the option directio"));
}

}  // namespace headrace::system
