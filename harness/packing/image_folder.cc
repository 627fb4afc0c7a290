#include "harness/packing/image_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <unordered_map>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/storage/data_set/block_pattern.h"
#include "harness/storage/data_set/walk.h"

namespace headrace::packing {
namespace {

constexpr unsigned kThreads = 16;  // each waits for its own file

std::string_view base_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// "" for a file that lies in no folder.
std::string_view class_of(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

std::string key_of(std::string_view stem) {
  std::string key(stem);
  const std::size_t base = stem.rfind('/') + 1;
  std::replace(key.begin() + static_cast<std::ptrdiff_t>(base), key.end(), '.', '_');
  return key;
}

void look_at_all(ImageFolder& from, const DataProgress& progress) {
  const FileTable& files = from.files;
  from.stamps.resize(files.count());
  parallel_for(files.count(), kThreads, [&](unsigned, std::uint64_t item) {
    const auto file = static_cast<std::uint32_t>(item);
    struct stat status;
    if (::fstatat(files.root_fd(), files.path(file), &status, AT_SYMLINK_NOFOLLOW) != 0)
      throw system_error("look at", files.full_path(file), errno);
    from.stamps[file] = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  });
  for (std::uint32_t file = 0; file < files.count(); ++file)
    from.mark = mix(from.mark ^ data_set_key(files.path(file)) ^ mix(files.size(file)) ^
                    mix(mix(static_cast<std::uint64_t>(from.stamps[file]))));
  if (progress) progress(files.count(), files.count(), "listing files");
}

/// Which files are of which sample; what belongs to none is left out.
void group(ImageFolder& from) {
  const FileTable& files = from.files;
  std::map<std::string, std::uint64_t> left_out(from.left_out.begin(), from.left_out.end());
  for (std::uint32_t file = 0; file < files.count(); ++file) {
    const std::string_view base = base_of(files.path(file));
    const std::size_t dot = base.rfind('.');
    if (base.starts_with('.'))
      ++left_out["hidden"];
    else if (dot == std::string_view::npos || dot + 1 == base.size())
      ++left_out["no extension"];
    else
      from.order.push_back(file);
  }
  from.left_out.assign(left_out.begin(), left_out.end());
  const auto stem = [&](std::uint32_t file) { return cut_extension(files.path(file)).first; };
  std::sort(from.order.begin(), from.order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::string_view one = stem(a), other = stem(b);
    return one != other ? one < other : std::string_view(files.path(a)) < std::string_view(files.path(b));
  });
  std::unordered_map<std::uint64_t, std::uint32_t> keys;  // hash of a key -> its first file
  for (std::uint32_t i = 0; i < from.order.size(); ++i) {
    if (i > 0 && stem(from.order[i]) == stem(from.order[i - 1])) {
      ++from.samples.back().count;
      continue;
    }
    from.samples.push_back({.first = i, .count = 1});
    const auto [other, is_new] = keys.emplace(data_set_key(key_of(stem(from.order[i]))), from.order[i]);
    if (!is_new)
      throw UsageError(
          fmt::format("pack: {} and {} would be one sample, as loaders cut names at the first dot: rename one",
                      files.full_path(other->second), files.full_path(from.order[i])));
  }
}

void classify(ImageFolder& from) {
  const FileTable& files = from.files;
  std::map<std::string_view, std::int32_t> classes;
  const char* loose = nullptr;
  for (const Sample& sample : from.samples) {
    const std::string_view name = class_of(files.path(from.order[sample.first]));
    if (name.empty())
      loose = files.path(from.order[sample.first]);
    else
      classes[name] = 0;
  }
  if (classes.empty()) return;
  if (loose != nullptr)
    throw UsageError(fmt::format(
        "pack: {}/{} lies beside the folders of the classes ({} ...) and has none: move it, or pack a folder "
        "of one kind",
        files.root(), loose, classes.begin()->first));
  for (auto& [name, number] : classes) {
    number = static_cast<std::int32_t>(from.classes.size());
    from.classes.emplace_back(name);
  }
  for (Sample& sample : from.samples) sample.label = classes[class_of(files.path(from.order[sample.first]))];
}

}  // namespace

std::pair<std::string_view, std::string> cut_extension(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  std::string extension(path.substr(dot + 1));
  for (char& c : extension) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  return {path.substr(0, dot), extension};
}

std::uint64_t ImageFolder::bytes(const Sample& sample) const {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < sample.count; ++i) bytes += files.size(order[sample.first + i]);
  return bytes;
}

std::string ImageFolder::key(const Sample& sample) const {
  return key_of(cut_extension(files.path(order[sample.first])).first);
}

ImageFolder list_images(const std::string& path, const DataProgress& progress) {
  Walked walked = walk(path, false, progress);
  ImageFolder from;
  from.files = std::move(walked.files);
  from.left_out = std::move(walked.left_out);
  look_at_all(from, progress);
  group(from);
  if (from.samples.empty()) throw RunError(path + ": holds no file with an extension: nothing to pack");
  classify(from);
  return from;
}

}  // namespace headrace::packing
