#include "harness/workload/data/some_samples.h"

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "harness/backends/formats/sample_parser.h"
#include "harness/backends/formats/shard_samples.h"
#include "harness/base/error.h"
#include "harness/base/system/open_quiet.h"
#include "harness/workload/data/opened_file.h"
#include "harness/workload/data/shard_files.h"

namespace headrace {
namespace {

using formats::Format;
using formats::Found;

constexpr std::uint64_t kHeadOfShard = 16 << 20;  // [B]
constexpr std::uint32_t kMostOfShards = 8;

/// That many of `all`, from the first to the last.
std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& all, std::size_t most) {
  std::vector<std::uint32_t> some;
  const std::size_t count = std::min(most, all.size());
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

std::vector<unsigned char> head_of(const DataSet& data, std::uint32_t file) {
  OpenedFile from = data.opened(file, POSIX_FADV_SEQUENTIAL);
  if (!from.is_open()) throw RunError(data.files().full_path(file) + " cannot be opened");
  std::vector<unsigned char> bytes(std::min(data.files().size(file), kHeadOfShard));
  std::size_t got = 0;
  while (got < bytes.size()) {
    const std::int64_t more = from.read(got, bytes.data() + got, bytes.size() - got);
    if (more < 0) throw RunError(data.files().full_path(file) + " cannot be read: " + from.why());
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

std::unique_ptr<formats::SampleParser> parser_for(const DataSet& data, Format format, std::uint32_t shard,
                                                  formats::Payload& keep) {
  if (format == Format::tar) return formats::tar_parser({}, &keep);
  if (format == Format::tfrecord) return formats::tfrecord_parser(&keep);
  const auto fd = system::open_quiet(data.files().root_fd(), data.files().path(shard), O_NOFOLLOW);
  return formats::mds_parser(fd ? formats::mds_columns_of(fd.get(), data.files().size(shard)) : std::nullopt, &keep);
}

ShardFiles shards_of(const DataSet& data) {
  return shard_files(data.files(), [&data](std::uint32_t file) -> formats::BytesAt {
    const auto from = std::make_shared<OpenedFile>(data.opened(file, POSIX_FADV_NORMAL));
    return [from](std::uint64_t offset, unsigned char* to, std::uint64_t length) {
      return from->is_open() ? from->read(offset, to, length) : -1;
    };
  });
}

}  // namespace

Format format_of(const DataSet& data) { return shards_of(data).format; }

std::vector<std::vector<unsigned char>> some_samples(const DataSet& data, std::vector<std::string_view> beginnings,
                                                     std::size_t most) {
  const ShardFiles found = shards_of(data);
  const Format format = found.format;
  const std::vector<std::uint32_t>& shards = found.files;
  std::vector<std::vector<unsigned char>> samples;
  if (format == Format::none) {
    for (const std::uint32_t file : spread(shards, most)) samples.push_back(data.whole(file));
    return samples;
  }
  formats::Payload keep(std::move(beginnings), 1 << 20);
  const std::vector<std::uint32_t> some = spread(shards, kMostOfShards);
  for (std::size_t i = 0; i < some.size(); ++i) {
    const auto parser = parser_for(data, format, some[i], keep);
    const std::vector<unsigned char> bytes = head_of(data, some[i]);
    const std::size_t enough = (i + 1) * most / some.size();
    parser->begin();
    for (std::span<const unsigned char> rest = bytes; samples.size() < enough;) {
      const Found found = rest.empty() ? parser->end() : parser->take(rest);
      rest = rest.subspan(std::min<std::size_t>(found.used, rest.size()));
      if (found.kind == Found::Kind::over || (found.kind == Found::Kind::bad && rest_is_lost(found.flaw))) break;
      if (found.kind == Found::Kind::sample && found.flaw == formats::Flaw::none && keep.flaw() == formats::Flaw::none)
        samples.emplace_back(keep.bytes().begin(), keep.bytes().end());
    }
  }
  return samples;
}

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
