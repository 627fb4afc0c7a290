// Lustre. Sources: the Lustre operations manual (tuning of clients), lustre_user.h (stripes), NVIDIA's guide to
// GPUDirect Storage. The guide has 4096 pages, 32 RPCs, 512 MB dirty, no checksums.
#include <fmt/format.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>

#include "harness/machine/examine/examine_file_system.h"

namespace headrace::system {
namespace {

using Level = Finding::Level;

/// The clients of this file system's object storage targets, in the folder where this version has them.
struct Targets {
  std::string folder;
  std::vector<std::string> names;

  /// The least that any of them has.
  std::optional<std::uint64_t> least(const ClientFiles& files, const char* parameter) const {
    std::optional<std::uint64_t> all;
    for (const std::string& name : names)
      if (const auto one = files.number(fmt::format("{}/{}/{}", folder, name, parameter)))
        all = std::min(all.value_or(*one), *one);
    return all;
  }
};

Targets targets_of(const std::string& name, const ClientFiles& files) {
  for (const char* folder : {"/sys/fs/lustre/osc", "/proc/fs/lustre/osc"}) {
    Targets found{folder, {}};
    for (const std::string& entry : files.entries(folder))
      if (entry.starts_with(name + "-OST")) found.names.push_back(entry);
    if (!found.names.empty()) return found;
  }
  return {};
}

std::optional<std::uint64_t> read_ahead_mb(const std::string& name, const ClientFiles& files) {
  for (const char* folder : {"/sys/fs/lustre/llite", "/proc/fs/lustre/llite"})
    for (const std::string& entry : files.entries(folder))
      if (entry.starts_with(name + "-"))
        if (const auto text = files.text(fmt::format("{}/{}/max_read_ahead_mb", folder, entry)))
          return static_cast<std::uint64_t>(std::max(0.0, std::atof(text->c_str())));  // "64", "64.00"
  return std::nullopt;
}

std::optional<LustreStripes> stripes_of(const std::string& path) {
  std::array<unsigned char, 65536> attribute;
  const ssize_t size = ::getxattr(path.c_str(), "lustre.lov", attribute.data(), attribute.size());
  if (size <= 0) return std::nullopt;
  return parse_lustre_stripes({attribute.data(), static_cast<std::size_t>(size)});
}

std::uint64_t little(std::span<const unsigned char> bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

}  // namespace

std::optional<LustreStripes> parse_lustre_stripes(std::span<const unsigned char> attribute) {
  // u32 magic, u32 pattern, 16 B of id, u32 stripe size, u16 stripe count, u16 generation
  constexpr std::uint64_t kV1 = 0x0BD10BD0, kV3 = 0x0BD30BD0, kComposite = 0x0BD60BD0;
  if (attribute.size() < 32) return std::nullopt;
  const std::uint64_t magic = little(attribute, 0, 4);
  if (magic == kComposite) return LustreStripes{.composite = true};
  if (magic != kV1 && magic != kV3) return std::nullopt;
  return LustreStripes{little(attribute, 24, 4), static_cast<unsigned>(little(attribute, 28, 2)), false};
}

std::vector<Finding> examine_lustre(const Mount& mount, const std::string& path, const ClientFiles& files) {
  const std::string name = mount.source.substr(mount.source.rfind('/') + 1);
  const Targets targets = targets_of(name, files);
  std::string version = files.text("/sys/fs/lustre/version").value_or("of an unknown version");
  version = version.substr(0, version.find('\n'));
  std::vector<Finding> findings{{Level::good, "client", "Lustre",
                                 fmt::format("{}; {} object storage target{}", version, targets.names.size(),
                                             targets.names.size() == 1 ? "" : "s"),
                                 ""}};
  const auto look = [&](const char* subject, std::optional<std::uint64_t> value, const std::string& text, bool good,
                        const std::string& advice) {
    if (value) findings.push_back({good ? Level::good : Level::note, "client", subject, text, good ? "" : advice});
  };
  const auto pages = targets.least(files, "max_pages_per_rpc");
  look("RPC size", pages,
       fmt::format("{} (max_pages_per_rpc {})", size_text(pages.value_or(0) * 4096), pages.value_or(0)),
       pages.value_or(0) >= 1024, "lctl set_param osc.*.max_pages_per_rpc=4096 (GPUDirect Storage guide)");
  const auto flying = targets.least(files, "max_rpcs_in_flight");
  look("RPCs", flying,
       fmt::format("{} in flight to each target, {} in all", flying.value_or(0),
                   flying.value_or(0) * targets.names.size()),
       flying.value_or(0) >= 32, "lctl set_param osc.*.max_rpcs_in_flight=32 (GPUDirect Storage guide)");
  const auto dirty = targets.least(files, "max_dirty_mb");
  look("dirty", dirty, fmt::format("at most {} MB for each target", dirty.value_or(0)), dirty.value_or(0) >= 512,
       "lctl set_param osc.*.max_dirty_mb=512, for checkpoints (GPUDirect Storage guide)");
  const auto sums = targets.least(files, "checksums");
  look("checksums", sums, sums.value_or(0) == 0 ? "off" : "on", sums.value_or(0) == 0,
       "cost processor time: lctl set_param osc.*.checksums=0, where the network checks its own (GPUDirect Storage "
       "guide)");
  const auto ahead = read_ahead_mb(name, files);
  look("read-ahead", ahead, fmt::format("{} MiB for all files", ahead.value_or(0)), ahead.value_or(0) >= 256,
       "many streams share it: lctl set_param llite.*.max_read_ahead_mb (Lustre manual)");
  if (const auto stripes = stripes_of(path))
    findings.push_back(
        {stripes->count == 1 && targets.names.size() > 1 ? Level::note : Level::good, "client", "stripes",
         stripes->composite ? "by how long the file is (PFL)"
                            : fmt::format("new files: {} of {}", stripes->count, size_text(stripes->size)),
         stripes->count == 1 ? "one target holds a whole file: lfs setstripe -c -1 for large shards and checkpoints, "
                               "-c 1 for small files (Lustre manual)"
                             : ""});
  return findings;
}

}  // namespace headrace::system
