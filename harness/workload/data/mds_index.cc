#include "harness/workload/data/mds_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "harness/backends/formats/little_endian.h"
#include "harness/base/system/open_quiet.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLargestIndex = 64 << 20;  // [B]
constexpr std::string_view kIndex = "index.json";

/// An index's entry for one file.
struct Reported {
  std::string name;
  std::uint64_t bytes = 0;
};

/// `key`: raw_data, or zip_data of shards that are compressed.
std::optional<Reported> describe(const nlohmann::json& shard, const char* key) {
  if (!shard.is_object() || !shard.contains(key) || !shard[key].is_object()) return std::nullopt;
  const nlohmann::json& file = shard[key];
  const auto name = file.find("basename"), bytes = file.find("bytes");
  if (name == file.end() || !name->is_string() || bytes == file.end() || !bytes->is_number_unsigned())
    return std::nullopt;
  return Reported{.name = name->get<std::string>(), .bytes = bytes->get<std::uint64_t>()};
}

class Check {
 public:
  Check(const FileTable& files, std::span<const std::uint32_t> shards, std::span<const std::string> empty)
      : files_(files), empty_(empty.begin(), empty.end()) {
    for (const std::uint32_t file : shards) shards_.emplace(std::string(files.name(file)), file);
  }

  std::vector<MdsIndexFault> faults() {
    bool any = false;
    for (std::uint32_t file = 0; file < files_.count(); ++file) {
      const std::string_view path = files_.name(file);
      if (!is_mds_index(path)) continue;
      any = true;
      index(file, std::string(path.substr(0, path.size() - kIndex.size())));
    }
    for (const std::string& name : empty_)
      if (is_mds_index(name)) add(name, "the index is empty (0 bytes), and StreamingDataset cannot open it");
    if (!any && faults_.empty()) faults_.push_back({without_index(), {}});
    for (const auto& [path, file] : shards_)
      if (any && !named_.contains(file)) add(path, "no index.json names this shard", file);
    return std::move(faults_);
  }

 private:
  /// A pattern, or the name of one file, may select shards without their index.
  std::string without_index() const {
    for (const auto& [path, file] : shards_) {
      const std::filesystem::path beside = std::filesystem::path(files_.full_path(file)).replace_filename(kIndex);
      std::error_code ignored;
      if (std::filesystem::exists(beside, ignored))
        return fmt::format(
            "{}: it is not among the named files, and StreamingDataset opens no MDS shards without it: name the folder",
            beside.string());
    }
    return files_.root() + ": no index.json: StreamingDataset opens no MDS shards without one";
  }

  void index(std::uint32_t file, const std::string& folder) {
    const std::string path(files_.name(file));
    if (files_.size(file) > kLargestIndex) return add(path, "an index of more than 64 MiB is not read");
    std::string text(files_.size(file), '\0');
    const auto fd = system::open_quiet(files_.root_fd(), files_.path(file), O_NOFOLLOW);
    if (!fd || ::pread(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      return add(path, "the index cannot be read");
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("shards") || !json["shards"].is_array())
      return add(path, "no index of MDS shards: an object with a list \"shards\"");
    std::size_t number = 0;
    for (const nlohmann::json& one : json["shards"]) shard(path, folder, number++, one);
  }

  void shard(const std::string& index, const std::string& folder, std::size_t number, const nlohmann::json& one) {
    const auto raw = describe(one, "raw_data"), zip = describe(one, "zip_data");
    if (!raw) return add(index, fmt::format("shards[{}] has no raw_data with basename and bytes", number));
    auto found = shards_.find(folder + raw->name);
    const bool zipped = found == shards_.end() && zip;
    if (zipped) found = shards_.find(folder + zip->name);
    if (found == shards_.end() && empty_.contains(folder + raw->name)) return;
    if (found == shards_.end()) return add(index, fmt::format("shards[{}], {}, is not there", number, raw->name));
    const auto& [path, file] = *found;
    named_.insert(file);
    const std::uint64_t bytes = zipped ? zip->bytes : raw->bytes;
    if (bytes != files_.size(file))
      return add(path, fmt::format("{} bytes, but {} says {}", files_.size(file), index, bytes), file);
    const auto samples = one.find("samples");
    if (zipped || samples == one.end() || !samples->is_number_unsigned()) return;
    std::array<unsigned char, 4> count{};
    const auto fd = system::open_quiet(files_.root_fd(), files_.path(file), O_NOFOLLOW);
    if (!fd || ::pread(fd.get(), count.data(), count.size(), 0) != static_cast<ssize_t>(count.size())) return;
    if (formats::little_endian_32(count.data()) != samples->get<std::uint64_t>())
      add(path,
          fmt::format("{} samples, but {} says {}", formats::little_endian_32(count.data()), index,
                      samples->get<std::uint64_t>()),
          file);
  }

  void add(const std::string& path, const std::string& what, std::optional<std::uint32_t> shard = {}) {
    faults_.push_back({files_.root() + "/" + path + ": " + what, shard});
  }

  const FileTable& files_;
  std::map<std::string, std::uint32_t> shards_;
  const std::set<std::string> empty_;
  std::set<std::uint32_t> named_;  // by an index
  std::vector<MdsIndexFault> faults_;
};

}  // namespace

bool is_mds_index(std::string_view path) noexcept { return path == kIndex || path.ends_with("/index.json"); }

std::vector<MdsIndexFault> mds_index_faults(const FileTable& files, std::span<const std::uint32_t> shards,
                                            std::span<const std::string> empty) {
  return Check(files, shards, empty).faults();
}

}  // namespace headrace
