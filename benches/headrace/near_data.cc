#include "benches/headrace/near_data.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "harness/backends/engines.h"
#include "harness/backends/formats/format.h"
#include "harness/backends/loader.h"
#include "harness/backends/object_store.h"
#include "harness/base/data_path.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/object_path.h"
#include "harness/machine/node.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNames = 1000;
constexpr double kLarge = 4 << 20;  // mean bytes of files that hold many samples

const NearData kImages{"resnet50-imagenet", "images", "small_file_read", {}};
const NearData kTars{"image-generation-webdataset", "tar shards", "shard_stream", {}};
const NearData kRows{"parquet-recommender", "Parquet files", "random_read", {{"read_profile", "row_group"}}};
const NearData kRowObjects{"parquet-recommender", "Parquet files", "shard_stream", {}};  // row groups are of files
const NearData kRecords{"mlperf-resnet50-h100", "TFRecord files", "shard_stream", {}};
const NearData kArrays{"mlperf-unet3d-h100", "NumPy files", "small_file_read", {}};
const NearData kTokens{"gpt-7b-512gpu", "token files", "random_read", {{"block_size", "8KiB"}}};
const NearData kClips{"video-clips", "video clips", "small_file_read", {}};
// No shipped job reads these.
const NearData kSmall{"", "small files", "small_file_read", {}};
const NearData kLong{"", "large files", "shard_stream", {}};

const std::map<std::string_view, const NearData*> kEndings{
    {"parquet", &kRows}, {"mp4", &kClips},  {"mkv", &kClips},  {"webm", &kClips}, {"npz", &kArrays}, {"npy", &kArrays},
    {"bin", &kTokens},   {"arrow", &kLong}, {"flac", &kSmall}, {"wav", &kSmall},  {"mp3", &kSmall},  {"pt", &kSmall}};

/// nullptr: unknown.
const NearData* kind_of(const std::string& name) {
  if (formats::has_image_extension(name)) return &kImages;
  switch (formats::format_by_name(name)) {
    case formats::Format::tar:
      return &kTars;
    case formats::Format::tfrecord:
      return &kRecords;
    case formats::Format::mds:
      return &kLong;
    case formats::Format::none:
      break;
  }
  if (name.find('.') == name.npos) return nullptr;
  std::string ending = name.substr(name.rfind('.') + 1);
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto known = kEndings.find(ending);
  return known == kEndings.end() ? nullptr : known->second;
}

/// Calls `seen` for each object of an address, until it returns false. Nothing where the store refuses: reading says why.
void each_object_near(const std::string& url, const std::function<bool(const ListedObject&)>& seen) {
  struct Enough {};
  const std::string listed = is_pattern(url) ? folder_of_pattern(url) : url;
  try {
    Node node("");
    node.backends().storage(object_engine()).object_store()->list(listed, [&](const ListedObject& object) {
      if (object.size > 0 && formats::by_product_on_path(object.key).empty() && !seen(object)) throw Enough{};
    });
  } catch (const Enough&) {
  } catch (const RunError&) {
  }
}

struct UnlistedFolder {
  std::string path;
  int error = 0;  // 0 = there is none
};

/// Calls `seen` for each regular file, folder by folder, until it returns false. Links are followed, and each folder
/// is entered once. Returns the first folder that cannot be listed.
UnlistedFolder each_file_near(const std::string& folder, const std::function<bool(const fs::directory_entry&)>& seen) {
  UnlistedFolder unlisted;
  std::set<std::pair<dev_t, ino_t>> entered;
  std::deque<fs::path> open{folder};
  for (; !open.empty(); open.pop_front()) {
    struct stat status;
    if (::stat(open.front().c_str(), &status) == 0 && !entered.emplace(status.st_dev, status.st_ino).second) continue;
    std::error_code bad;
    for (fs::directory_iterator at(open.front(), bad), end; !bad && at != end; at.increment(bad)) {
      std::error_code gone;
      const std::string name = at->path().filename();
      if (name == "lost+found" || !formats::by_product(name).empty()) continue;
      if (at->is_directory(gone)) {
        if (open.size() < kMostNames) open.push_back(at->path());
      } else if (at->is_regular_file(gone) && !seen(*at)) {
        return unlisted;
      }
    }
    if (bad && unlisted.error == 0) unlisted = {open.front().string(), bad.value()};
  }
  return unlisted;
}

}  // namespace

const NearData* near_data(const std::vector<std::string>& names) {
  std::map<const NearData*, std::size_t> count;
  const NearData* most = nullptr;
  for (const std::string& name : names) {
    const NearData* const known = kind_of(name);
    if (known != nullptr && ++count[known] > (most == nullptr ? 0 : count[most])) most = known;
  }
  return most;
}

std::vector<std::string> names_near(const std::string& folder) {
  std::vector<std::string> names;
  each_file_near(folder, [&](const fs::directory_entry& file) {
    names.push_back(file.path().filename().string());
    return names.size() < kMostNames;
  });
  return names;
}

namespace {

/// By their keys, else by their sizes. An address whose name shows it is not listed.
const NearData& objects_at(const std::string& url) {
  const auto of_objects = [](const NearData* kind) { return kind == &kRows ? &kRowObjects : kind; };
  if (const NearData* const known = of_objects(near_data({url}))) return *known;
  std::vector<std::string> keys;
  double bytes = 0;
  each_object_near(url, [&](const ListedObject& object) {
    keys.emplace_back(object.key);
    bytes += static_cast<double>(object.size);
    return keys.size() < kMostNames;
  });
  if (const NearData* const known = of_objects(near_data(keys))) return *known;
  return bytes > kLarge * static_cast<double>(keys.size()) ? kLong : kSmall;
}

}  // namespace

const NearData& data_at(const std::string& path) {
  if (is_object_path(path)) return objects_at(path);
  std::error_code none;
  const bool folder = fs::is_directory(path, none);
  const std::vector<std::string> names = folder ? names_near(path) : std::vector{path};
  if (const NearData* const known = near_data(names)) return *known;
  if (names.empty()) {
    const UnlistedFolder unlisted = each_file_near(path, [](const fs::directory_entry&) { return true; });
    if (unlisted.error != 0) throw system_error("list", unlisted.path, unlisted.error);
    throw UsageError(fmt::format("measure: {} holds no file that can be read", path));
  }
  double bytes = 0, files = 0;
  each_file_near(folder ? path : folder_of_pattern(path), [&](const fs::directory_entry& file) {
    std::error_code gone;
    const std::uintmax_t size = file.file_size(gone);
    bytes += gone ? 0 : static_cast<double>(size);
    return ++files < kMostNames;
  });
  return files > 0 && bytes / files > kLarge ? kLong : kSmall;
}

}  // namespace headrace::cli
