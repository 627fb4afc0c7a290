#include "harness/workload/data/own_samples.h"

#include <fcntl.h>

#include <algorithm>
#include <vector>

#include "harness/backends/formats/shard_samples.h"
#include "harness/base/system/open_quiet.h"

namespace headrace {
namespace {

using formats::Format;

constexpr std::uint64_t kMostOfEach = 16 << 20;
constexpr std::size_t kMostShards = 4;

/// By the files' names, else by what the first one begins with.
Format format_of(const FileTable& files) {
  for (std::uint32_t file = 0; file < files.count(); ++file)
    if (const Format named = formats::format_by_name(files.path(file)); named != Format::none) return named;
  const system::UniqueFd first = system::open_quiet(AT_FDCWD, files.full_path(0).c_str());
  return first ? formats::format_by_content(formats::bytes_of_file(first.get())) : Format::none;
}

/// Some of the shards, from the first to the last.
std::vector<std::uint32_t> some_shards(const FileTable& files, Format format) {
  std::vector<std::uint32_t> named, all;
  for (std::uint32_t file = 0; file < files.count(); ++file) {
    all.push_back(file);
    if (formats::format_by_name(files.path(file)) == format) named.push_back(file);
  }
  const std::vector<std::uint32_t>& shards = named.empty() ? all : named;
  std::vector<std::uint32_t> some;
  for (std::size_t i = 0; i < std::min(kMostShards, shards.size()); ++i)
    some.push_back(shards[i * shards.size() / std::min(kMostShards, shards.size())]);
  return some;
}

}  // namespace

OwnSamples own_samples(const FileTable& files) {
  if (files.count() == 0 || files.holds_objects() || files.is_device()) return {};
  OwnSamples own{.format = format_of(files)};
  if (own.format == Format::none) return own;
  double bytes = 0, samples = 0;
  for (const std::uint32_t file : some_shards(files, own.format)) {
    const formats::CountedSamples counted = formats::count_samples(files.full_path(file), own.format, kMostOfEach);
    if (counted.samples == 0) continue;
    bytes += static_cast<double>(counted.bytes);
    samples += static_cast<double>(counted.samples);
  }
  if (samples > 0) own.stored_size = bytes / samples;
  return own;
}

}  // namespace headrace
