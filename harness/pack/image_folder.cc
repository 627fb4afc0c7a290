#include "harness/pack/image_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "harness/backends/formats/format.h"
#include "harness/backends/formats/tar.h"
#include "harness/base/code_points.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/base/system/open_quiet.h"
#include "harness/pack/shard_listing.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/data_set/walk.h"
#include "harness/workload/data/mds_index.h"
#include "harness/workload/data/shard_files.h"

namespace headrace::pack {
namespace {

constexpr unsigned kThreads = 16;  // each waits for its own file

/// "" for a file in no folder.
std::string_view class_of(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

/// WebDataset cuts a name at the first dot after the last slash, and takes no line breaks next to dots. It skips names
/// whose first part begins and ends with "__".
std::string key_of(std::string_view stem) {
  std::string key(stem);
  const std::size_t base = stem.rfind('/') + 1;
  std::replace(key.begin() + static_cast<std::ptrdiff_t>(base), key.end(), '.', '_');
  std::replace(key.begin(), key.end(), '\n', '_');
  while (key.starts_with("__")) key.erase(0, 1);
  return key;
}

/// Why a file or folder is no part of a sample, or "".
std::string left_out_for(std::string_view name, bool folder) {
  if (name.starts_with('.')) return "hidden";
  if (folder) return "";
  const std::string extension = name.find('.') == name.npos ? "" : cut_extension(name).second;
  if (extension.empty()) return "no extension";
  // Protocol buffers take UTF-8 alone as a feature's name; WebDataset has names of its own like "__key__".
  const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
  const bool usual = std::all_of(extension.begin(), extension.end(), plain) && !extension.starts_with("__");
  return usual ? "" : "unusual extension";
}

/// `files`: of `from`, or its shards.
void look_at_all(ImageFolder& from, const FileTable& files, const DataProgress& progress) {
  from.stamps.resize(files.count());
  parallel_for(files.count(), kThreads, [&](unsigned, std::uint64_t item) {
    const auto file = static_cast<std::uint32_t>(item);
    if (files.holds_objects()) return void(from.stamps[file] = static_cast<std::int64_t>(files.version(file)));
    struct stat status;
    if (::fstatat(files.root_fd(), files.path(file), &status, AT_SYMLINK_NOFOLLOW) != 0)
      throw system_error("look at", files.full_path(file), errno);
    from.stamps[file] = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  });
  for (std::uint32_t file = 0; file < files.count(); ++file)
    from.mark = mix(from.mark ^ data_set_key(files.name(file)) ^ mix(files.size(file)) ^
                    mix(mix(static_cast<std::uint64_t>(from.stamps[file]))));
  if (progress) progress(files.count(), files.count(), "listing files");
}

/// Captions and the like without an image are no samples of a folder of images: torchvision's ImageFolder skips them.
void leave_out_imageless(ImageFolder& from) {
  const auto file_of = [&](const Sample& sample, std::uint32_t i) { return from.order[sample.first + i]; };
  const auto imageless = [&](const Sample& sample) {
    for (std::uint32_t i = 0; i < sample.count; ++i)
      if (formats::is_image(cut_extension(from.files.name(file_of(sample, i))).second)) return false;
    return true;
  };
  const auto others = std::stable_partition(from.samples.begin(), from.samples.end(), std::not_fn(imageless));
  if (others == from.samples.begin() || others == from.samples.end()) return;
  std::uint64_t count = 0;
  for (auto sample = others; sample != from.samples.end(); count += sample->count, ++sample)
    for (std::uint32_t i = 0; i < sample->count; ++i)
      std::erase(from.empty_files, from.files.name(file_of(*sample, i)));
  from.left_out.emplace_back(
      fmt::format("no image of the same name, such as {}", from.files.name(from.order[others->first])), count);
  from.samples.erase(others, from.samples.end());
}

/// Which files are of which sample.
void group(ImageFolder& from) {
  const FileTable& files = from.files;
  from.order.resize(files.count());
  std::iota(from.order.begin(), from.order.end(), 0u);
  const auto stem = [&](std::uint32_t file) { return cut_extension(files.name(file)).first; };
  std::sort(from.order.begin(), from.order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::string_view one = stem(a), other = stem(b);
    return one != other ? one < other : files.name(a) < files.name(b);
  });
  std::unordered_map<std::uint64_t, std::uint32_t> keys;  // hash of a key -> its first file
  for (std::uint32_t i = 0; i < from.order.size(); ++i) {
    if (i > 0 && stem(from.order[i]) == stem(from.order[i - 1]))
      ++from.samples.back().count;
    else
      from.samples.push_back({.first = i, .count = 1});
  }
  leave_out_imageless(from);
  for (const Sample& sample : from.samples) {
    const std::uint32_t file = from.order[sample.first];
    const auto [other, is_new] = keys.emplace(data_set_key(key_of(stem(file))), file);
    if (!is_new)
      throw UsageError(fmt::format("pack: {} and {} would be one sample for loaders ({}): rename one",
                                   files.full_path(other->second), files.full_path(file), key_of(stem(file))));
    check_parts(from, sample);
  }
}

/// torchvision's ImageFolder numbers all folders by their names as Python sorts them.
void classify(ImageFolder& from, const std::vector<std::string>& folders) {
  std::map<std::u32string, std::string> sorted;
  std::string hidden;
  for (const std::string& name : folders) name.starts_with('.') ? hidden = name : sorted[python_name(name)] = name;
  if (sorted.empty()) return;
  if (!hidden.empty())
    throw UsageError(
        fmt::format("pack: {}/{} is a hidden folder, which torchvision's ImageFolder numbers as a class: "
                    "move it away",
                    from.files.root(), hidden));
  std::map<std::string_view, std::int32_t> numbers;
  for (auto& [characters, name] : sorted) from.classes.push_back(std::move(name));
  for (const std::string& name : from.classes) numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
  for (Sample& sample : from.samples) {
    const std::string_view path = from.files.name(from.order[sample.first]);
    const std::string_view name = class_of(path);
    if (name.empty())
      throw UsageError(
          fmt::format("pack: {}/{} is in no folder of a class ({} ...): move it, or pack a folder of one kind",
                      from.files.root(), path, from.classes.front()));
    sample.label = numbers.at(name);
  }
}

/// What a file named as an image is by its first bytes; "" = it may be one.
std::string other_content(const FileTable& files, std::uint32_t file) {
  const system::UniqueFd fd = system::open_quiet(files.root_fd(), files.path(file), O_NOFOLLOW);
  return std::string(fd ? formats::foreign_format("", formats::bytes_of_file(fd.get())).name : "");
}

/// The first packed file that is no image: shards by name, others by the first bytes of some images.
std::string find_no_image(const ImageFolder& from) {
  constexpr std::uint32_t kLooks = 256;
  const FileTable& files = from.files;
  std::vector<std::uint32_t> packed;
  for (const Sample& sample : from.samples)
    packed.insert(packed.end(), from.order.begin() + sample.first, from.order.begin() + sample.first + sample.count);
  std::sort(packed.begin(), packed.end());
  const auto step = static_cast<std::uint32_t>(packed.size() / kLooks + 1);
  for (std::uint32_t i = 0; i < packed.size(); ++i) {
    const std::uint32_t file = packed[i];
    std::string what;
    if (const formats::Format format = formats::format_by_name(files.name(file)); format != formats::Format::none)
      what = fmt::format("a shard, {}", to_string(format));
    else if (i % step == 0 && !files.holds_objects() && formats::has_image_extension(files.name(file)))
      what = other_content(files, file);
    if (!what.empty()) return fmt::format("{} ({})", files.name(file), what);
  }
  return "";
}

Walked listing(const std::string& path, bool follow_links, ObjectStore* store, const DataProgress& progress) {
  const WalkRules rules{.allow_device = false, .follow_links = follow_links, .leaves_out = left_out_for};
  try {
    return store != nullptr ? list_objects(*store, path, rules, progress) : walk(path, rules, progress);
  } catch (const UsageError& e) {
    throw UsageError(std::string("pack: ") + e.what());
  }
}

/// Opens them where they are files.
LookInto look_into(const FileTable& files) {
  return [&files](std::uint32_t file) -> formats::BytesAt {
    return [&files, file](std::uint64_t offset, unsigned char* to, std::uint64_t length) -> std::int64_t {
      if (files.holds_objects()) return 0;
      const system::UniqueFd fd = system::open_quiet(files.root_fd(), files.path(file), O_NOFOLLOW);
      return fd ? formats::bytes_of_file(fd.get())(offset, to, length) : 0;
    };
  };
}

/// Tables and archives of many samples, which would become one sample each.
void refuse_tables(const FileTable& files) {
  constexpr std::string_view kTables[] = {"Parquet", "Arrow IPC", "FFCV", "LMDB", "ArrayRecord"};
  for (std::uint32_t file = 0; file < files.count(); ++file)
    if (formats::has_image_extension(files.name(file))) return;
  for (std::uint32_t file = 0; file < files.count(); ++file) {
    const formats::Foreign what = formats::foreign_format(files.name(file), [](auto...) { return 0; });
    if (std::ranges::find(kTables, what.name) != std::end(kTables))
      throw UsageError(
          fmt::format("pack: {} is {}, which is not packed: write its samples as files or tar shards with the library "
                      "that reads it, or measure it as it is ({})",
                      files.full_path(file), what.name, what.nearest));
  }
}

/// The shards in `walked`, where there is nothing else but side files; else none.
ShardFiles shards_alone(const Walked& walked) {
  ShardFiles found = shard_files(walked.files, look_into(walked.files));
  if (found.format == formats::Format::none) return found;
  for (std::uint32_t file = 0, next = 0; file < walked.files.count(); ++file) {
    if (next < found.files.size() && found.files[next] == file)
      ++next;
    else if (!formats::is_side_file(walked.files.name(file)))
      return {};
  }
  return found;
}

void list_shards(ImageFolder& from, Walked& walked, const ShardFiles& found, formats::Format to,
                 const DataProgress& progress) {
  if (walked.files.holds_objects())
    throw UsageError(fmt::format("pack: {} holds {} shards in an object store: copy them to a folder and pack that",
                                 walked.files.root(), to_string(found.format)));
  if (found.format == formats::Format::mds)
    for (const MdsIndexFault& fault : mds_index_faults(walked.files, found.files, walked.empty))
      throw UsageError("pack: " + fault.words);
  from.format = found.format;
  if (found.others > 0) from.left_out.emplace_back("side file of shards", found.others);
  walked.files.keep_only([&, shards = std::set(found.files.begin(), found.files.end())](std::uint32_t file) {
    return shards.contains(file);
  });
  from.shards = std::move(walked.files);
  look_at_all(from, from.shards, progress);
  list_samples(from, to, progress);
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

std::string ImageFolder::part(std::uint32_t file) const {
  return in_shards() ? std::string(formats::sample_name(files.name(file)).part)
                     : cut_extension(files.name(file)).second;
}

std::string ImageFolder::key(const Sample& sample) const {
  if (in_shards()) return std::string(formats::sample_name(files.name(order[sample.first])).key);
  return key_of(cut_extension(files.name(order[sample.first])).first);
}

std::vector<std::string> ImageFolder::empty_classes() const {
  if (classes.empty()) return {};  // labels of shards have no names
  std::vector<bool> seen(classes.size());
  for (const Sample& sample : samples)
    if (sample.label >= 0) seen[static_cast<std::size_t>(sample.label)] = true;
  std::vector<std::string> empty;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (!seen[i]) empty.push_back(classes[i]);
  return empty;
}

void check_parts(const ImageFolder& from, const Sample& sample) {
  if (sample.count == 1) return;
  std::map<std::string, std::uint32_t> parts;
  for (std::uint32_t i = 0; i < sample.count; ++i) {
    const std::uint32_t file = from.order[sample.first + i];
    std::string part = "." + from.part(file);
    if (formats::is_image(part.substr(1)) && !from.whole) part = "image";
    const auto [other, is_new] = parts.emplace(part, file);
    if (!is_new)
      throw UsageError(fmt::format("pack: {} and {} would both be the {} of one sample: rename one",
                                   from.files.full_path(other->second), from.files.full_path(file), part));
  }
}

ImageFolder list_images(const std::string& path, const DataProgress& progress, bool follow_links, ObjectStore* store,
                        formats::Format to) {
  Walked walked = listing(path, follow_links, store, progress);
  ImageFolder from;
  from.store = store;
  from.left_out = std::move(walked.left_out);
  if (const ShardFiles found = shards_alone(walked); found.format != formats::Format::none) {
    list_shards(from, walked, found, to, progress);
    return from;
  }
  refuse_tables(walked.files);
  from.files = std::move(walked.files);
  from.empty_files = std::move(walked.empty);
  look_at_all(from, from.files, progress);
  group(from);
  from.no_image = find_no_image(from);
  classify(from, walked.folders);
  return from;
}

}  // namespace headrace::pack
