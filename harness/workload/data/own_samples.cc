#include "harness/workload/data/own_samples.h"

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/backends/formats/shard_samples.h"
#include "harness/base/system/open_quiet.h"
#include "harness/workload/data/shard_files.h"

namespace headrace {
namespace {

using formats::Format;

constexpr std::uint64_t kMostOfEach = 16 << 20;
constexpr std::size_t kMostShards = 4;

/// Some of the shards, from the first to the last.
std::vector<std::uint32_t> some_of(const std::vector<std::uint32_t>& shards) {
  std::vector<std::uint32_t> some;
  const std::size_t count = std::min(kMostShards, shards.size());
  for (std::size_t i = 0; i < count; ++i) some.push_back(shards[i * shards.size() / count]);
  return some;
}

}  // namespace

OwnSamples own_samples(const FileTable& files) {
  if (files.count() == 0 || files.holds_objects() || files.is_device()) return {};
  const ShardFiles shards = shard_files(files, [&files](std::uint32_t file) -> formats::BytesAt {
    const auto fd = std::make_shared<system::UniqueFd>(system::open_quiet(files.root_fd(), files.path(file)));
    return [fd](std::uint64_t offset, unsigned char* to, std::uint64_t length) -> std::int64_t {
      return *fd ? formats::bytes_of_file(fd->get())(offset, to, length) : -1;
    };
  });
  OwnSamples own{.format = shards.format};
  if (own.format == Format::none) return own;
  double bytes = 0, samples = 0;
  for (const std::uint32_t file : some_of(shards.files)) {
    const formats::CountedSamples counted = formats::count_samples(files.full_path(file), own.format, kMostOfEach);
    if (counted.samples == 0) continue;
    bytes += static_cast<double>(counted.bytes);
    samples += static_cast<double>(counted.samples);
  }
  if (samples > 0) own.stored_size = bytes / samples;
  return own;
}

}  // namespace headrace
