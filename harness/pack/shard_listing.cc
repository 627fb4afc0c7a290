#include "harness/pack/shard_listing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_set>

#include "harness/backends/formats/little_endian.h"
#include "harness/backends/formats/sample_parser.h"
#include "harness/backends/formats/tar.h"
#include "harness/backends/formats/tfrecord.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/base/system/open_quiet.h"
#include "harness/workload/data/data_set/block_pattern.h"

namespace headrace::pack {
namespace {

using formats::Flaw;
using formats::Format;
using Bytes = std::span<const unsigned char>;

constexpr unsigned kShardsAtOnce = 16;                            // each waits for its own storage
constexpr std::uint64_t kLargestRecord = std::uint64_t{2} << 30;  // [B]
constexpr std::uint64_t kLongestClass = 11;                       // of a .cls file with a number [B]

/// A part of a sample: in its shard, or a text.
struct Part {
  std::string name;         // tar: the member's; else without a key
  std::string ending = {};  // of an image in bytes that have no file's name
  std::uint64_t offset = 0, size = 0;
  std::string text = {};
};
using Parts = std::vector<Part>;

struct Listed {
  std::vector<Parts> samples;
  std::uint64_t left_out = 0;  // members of no sample
  std::optional<formats::MdsColumns> columns;
};

class OpenShard {
 public:
  OpenShard(const FileTable& files, std::uint32_t file)
      : name_(files.full_path(file)),
        size_(files.size(file)),
        fd_(system::open_quiet(files.root_fd(), files.path(file), O_NOFOLLOW)) {
    if (!fd_) throw system_error("open", name_, errno);
    if (size_ == 0) fail(Flaw::no_sample, 0);
  }
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  int fd() const { return fd_.get(); }
  formats::BytesAt bytes() const {
    return [this](std::uint64_t offset, unsigned char* to, std::uint64_t length) {
      const std::int64_t got = formats::bytes_of_file(fd_.get())(offset, to, length);
      if (got < 0) throw system_error("read", name_, offset, errno);
      return got;
    };
  }
  /// All of `into`, or it throws.
  void read(std::uint64_t offset, std::span<unsigned char> into) const {
    while (!into.empty()) {
      const std::int64_t got = bytes()(offset, into.data(), into.size());
      if (got == 0) fail(Flaw::truncated, offset);
      offset += static_cast<std::uint64_t>(got);
      into = into.subspan(static_cast<std::size_t>(got));
    }
  }
  std::string text(std::uint64_t offset, std::uint64_t length) const {
    std::string text(length, '\0');
    read(offset, {reinterpret_cast<unsigned char*>(text.data()), text.size()});
    return text;
  }
  [[noreturn]] void fail(Flaw flaw, std::uint64_t offset) const {
    std::array<unsigned char, 8> first{};
    if (offset == 0 && size_ >= first.size()) read(0, first);
    if (formats::looks_compressed(first)) flaw = Flaw::compressed;
    throw RunError(fmt::format("{} at offset {}: {}", name_, offset, to_string(flaw)));
  }
  [[noreturn]] void refuse(std::string_view what, Format own) const {
    throw UsageError(
        fmt::format("pack: {}: {}, which becomes no file: --format {} copies it", name_, what, to_string(own)));
  }

 private:
  const std::string name_;
  const std::uint64_t size_;
  const system::UniqueFd fd_;
};

/// "jpg" for bytes that begin as a JPEG; "": it is no known image.
std::string image_ending(Bytes bytes) {
  using namespace std::string_view_literals;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xff\xd8\xff"sv)) return "jpg";
  if (text.starts_with("\x89PNG\r\n\x1a\n"sv)) return "png";
  switch (formats::other_image(bytes)) {
    case Flaw::webp:
      return "webp";
    case Flaw::gif:
      return "gif";
    case Flaw::bmp:
      return "bmp";
    case Flaw::tiff:
      return "tif";
    default:
      return "";
  }
}

/// A feature's or column's name as part of a file's.
std::string plain(std::string_view name) {
  std::string plain(name);
  std::ranges::replace_if(
      plain, [](char c) { return c <= ' ' || c > '~' || c == '/'; }, '_');
  return plain;
}

/// Values without files' names as parts: the only image is "jpg", others are "NAME.jpg", and the class is "cls".
Parts named(Parts values) {
  const bool single = std::ranges::count_if(values, [](const Part& value) { return !value.ending.empty(); }) == 1;
  for (Part& value : values) {
    value.name = plain(value.name);
    if (!value.ending.empty()) value.name = single ? value.ending : value.name + "." + value.ending;
  }
  return values;
}

template <class Number>
Part part_of_numbers(const std::string& name, const std::vector<Number>& numbers) {
  constexpr std::string_view kClasses[] = {"image/class/label", "label", "y", "cls"};
  const bool is_class = std::is_integral_v<Number> && numbers.size() == 1 && std::ranges::count(kClasses, name) > 0;
  const std::string all = fmt::format("{}", fmt::join(numbers, ", "));
  const std::string text = numbers.size() == 1 ? all : "[" + all + "]";
  return {.name = is_class ? "cls" : name + ".json", .size = text.size(), .text = text};
}

Listed list_tar(const OpenShard& shard) {
  Listed found;
  std::string key;
  std::uint64_t last = 0, end = 0;
  const Flaw flaw = formats::each_file(shard.bytes(), shard.size(), [&](const formats::TarFile& file) {
    if (file.sparse) shard.fail(Flaw::unsupported, file.offset);
    last = file.offset;
    end = last + file.bytes + formats::tar_padding(file.bytes);
    const std::string_view name = file.name.substr(std::min(file.name.find_first_not_of('/'), file.name.size()));
    const formats::SampleName sample = formats::sample_name(name);
    if (sample.key.empty() || formats::is_apple_double(sample)) return ++found.left_out, true;
    if (found.samples.empty() || sample.key != key) found.samples.emplace_back();
    key = sample.key;
    const bool has_class = sample.part == "cls" && file.bytes <= kLongestClass;
    found.samples.back().push_back({.name = std::string(name),
                                    .offset = file.offset,
                                    .size = file.bytes,
                                    .text = has_class ? shard.text(file.offset, file.bytes) : ""});
    return true;
  });
  if (flaw != Flaw::none) shard.fail(flaw, flaw == Flaw::truncated ? last : end);
  return found;
}

Parts parts_of_example(const OpenShard& shard, Bytes record, std::uint64_t offset) {
  const auto features = formats::example_features(record);
  if (!features) shard.refuse(fmt::format("the record at {} is no tf.train.Example", offset), Format::tfrecord);
  Parts parts;
  for (const formats::Feature& feature : *features) {
    for (std::size_t i = 0; i < feature.bytes.size(); ++i)
      parts.push_back({.name = feature.bytes.size() == 1 ? feature.name : fmt::format("{}.{}", feature.name, i),
                       .ending = image_ending(feature.bytes[i]),
                       .offset = offset + static_cast<std::uint64_t>(feature.bytes[i].data() - record.data()),
                       .size = feature.bytes[i].size()});
    if (!feature.numbers.empty()) parts.push_back(part_of_numbers(feature.name, feature.numbers));
    if (!feature.floats.empty()) parts.push_back(part_of_numbers(feature.name, feature.floats));
  }
  return named(std::move(parts));
}

Listed list_records(const OpenShard& shard, bool whole) {
  using formats::kRecordFoot, formats::kRecordHead;
  Listed found;
  std::vector<unsigned char> record;
  for (std::uint64_t at = 0, length = 0; at < shard.size(); at += kRecordHead + length + kRecordFoot) {
    std::array<unsigned char, kRecordHead> head{};
    shard.read(at, head);
    if (!formats::record_head(head, length)) shard.fail(Flaw::length_crc, at);
    if (length > shard.size() || at + kRecordHead + length + kRecordFoot > shard.size())
      shard.fail(Flaw::truncated, at);
    if (length > kLargestRecord) shard.fail(Flaw::too_large, at);
    if (whole) {
      found.samples.push_back({{.name = "tfrecord", .offset = at, .size = kRecordHead + length + kRecordFoot}});
      continue;
    }
    record.resize(length + kRecordFoot);
    shard.read(at + kRecordHead, record);
    if (!formats::is_whole_record(record)) shard.fail(Flaw::data_crc, at);
    found.samples.push_back(parts_of_example(shard, Bytes(record).first(length), at + kRecordHead));
  }
  return found;
}

using First = std::array<unsigned char, 16>;  // bytes of a column

template <class Number>
Part part_of_number(const std::string& name, const First& bytes) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return part_of_numbers(name, std::vector<Number>{number});
}

/// The column of one sample as a part, which lies at `offset`.
Part part_of_column(const OpenShard& shard, const std::string& name, const std::string& encoding, std::uint64_t offset,
                    std::uint64_t size) {
  Part part{.name = name, .offset = offset, .size = size};
  First first{};
  if (shard.size() < offset + size) shard.fail(Flaw::column_sizes, offset);
  shard.read(offset, std::span(first).first(std::min<std::uint64_t>(size, first.size())));
  if (encoding == "jpeg" || encoding == "png") return part.ending = encoding == "png" ? "png" : "jpg", part;
  if (encoding == "bytes") return part.ending = image_ending(first), part;
  if (encoding == "str" || encoding == "json" || encoding == "pkl")
    return part.name += encoding == "str" ? ".txt" : "." + encoding, part;
  struct Kind {
    std::string_view encoding;
    std::size_t bytes;
    Part (*make)(const std::string& name, const First& bytes);
  };
  constexpr Kind kKinds[] = {{"int", 8, part_of_number<std::int64_t>},   {"int64", 8, part_of_number<std::int64_t>},
                             {"int32", 4, part_of_number<std::int32_t>}, {"int16", 2, part_of_number<std::int16_t>},
                             {"int8", 1, part_of_number<std::int8_t>},   {"uint8", 1, part_of_number<std::uint8_t>},
                             {"float32", 4, part_of_number<float>},      {"float64", 8, part_of_number<double>}};
  for (const Kind& kind : kKinds)
    if (kind.encoding == encoding && kind.bytes == size) return kind.make(name, first);
  shard.refuse(fmt::format("column '{}' is {}", name, encoding.empty() ? "of no encoding" : encoding), Format::mds);
}

Parts parts_of_columns(const OpenShard& shard, const formats::MdsColumns& columns, std::uint64_t begin,
                       std::uint64_t end) {
  std::vector<unsigned char> sizes(4 * columns.variable);
  if (end - begin < sizes.size()) shard.fail(Flaw::column_sizes, begin);
  shard.read(begin, sizes);
  Parts parts;
  std::uint64_t at = begin + sizes.size();
  for (std::size_t i = 0, next = 0; i < columns.sizes.size(); ++i) {
    const std::uint64_t size = columns.sizes[i] ? *columns.sizes[i] : formats::little_endian_32(&sizes[4 * next++]);
    parts.push_back(part_of_column(shard, columns.names[i], columns.encodings[i], at, size));
    at += size;
  }
  if (at != end) shard.fail(Flaw::column_sizes, begin);
  return named(std::move(parts));
}

Listed list_mds(const OpenShard& shard, bool whole) {
  Listed found;
  found.columns = formats::mds_columns_of(shard.fd(), shard.size());
  if (!found.columns || found.columns->names.empty() || found.columns->encodings.empty())
    shard.fail(Flaw::bad_table, 0);
  std::vector<unsigned char> table(4);
  shard.read(0, table);
  const std::uint64_t count = formats::little_endian_32(table.data());
  table.resize(4 * (count + 1));
  shard.read(4, table);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = formats::little_endian_32(&table[4 * i]),
                        end = formats::little_endian_32(&table[4 * i + 4]);
    if (begin > end || end > shard.size()) shard.fail(Flaw::bad_table, begin);
    found.samples.push_back(whole ? Parts{{.name = "mds", .offset = begin, .size = end - begin}}
                                  : parts_of_columns(shard, *found.columns, begin, end));
  }
  return found;
}

Listed list_shard(const OpenShard& shard, Format format, bool whole) {
  if (format == Format::tar) return list_tar(shard);
  return format == Format::tfrecord ? list_records(shard, whole) : list_mds(shard, whole);
}

/// A number in the text of a class.
std::optional<std::int32_t> class_in(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc{} && end == text.data() + text.size();
  return all && number >= 0 ? std::optional(number) : std::nullopt;
}

/// Puts the samples of one shard behind those before.
class Adding {
 public:
  Adding(ImageFolder& from, Format to, const std::vector<Listed>& all) : from_(from), to_(to) {
    std::unordered_set<std::uint64_t> keys;
    for (const Listed& shard : all)
      for (const Parts& parts : shard.samples)
        if (from_.format == Format::tar && !keys.insert(data_set_key(key_of(parts))).second) same_keys_ = true;
  }

  void add(std::uint32_t shard, const Listed& listed) {
    shard_ = shard;
    for (const Parts& parts : listed.samples) add(parts);
  }

 private:
  static std::string_view key_of(const Parts& parts) { return formats::sample_name(parts.front().name).key; }

  /// Shards may number their samples each from 0 on: then the shard's name comes first.
  std::string key(const Parts& parts) const {
    if (from_.format != Format::tar) return fmt::format("{:09}", from_.samples.size());
    if (!same_keys_) return std::string(key_of(parts));
    std::string shard(cut_extension(from_.shards.name(shard_)).first);
    return plain(shard) + "/" + std::string(key_of(parts));
  }

  void add(const Parts& parts) {
    if (parts.empty()) return;
    Sample sample{.first = static_cast<std::uint32_t>(from_.order.size())};
    const std::string key = this->key(parts);
    for (const Part& part : parts) {
      std::string own = from_.format != Format::tar ? part.name : std::string(formats::sample_name(part.name).part);
      const auto number = own == "cls" && to_ != Format::tar && parts.size() > 1 ? class_in(part.text) : std::nullopt;
      if (number && sample.label < 0) {
        sample.label = *number;
        continue;
      }
      if (to_ != Format::tar) own = plain(own);
      add(part, key + "." + own);
      ++sample.count;
    }
    if (!keys_.insert(data_set_key(key)).second)
      throw UsageError(
          fmt::format("pack: {}: two samples have the key {}: rename one", from_.shards.full_path(shard_), key));
    check_parts(from_, sample);
    from_.samples.push_back(sample);
  }
  void add(const Part& part, const std::string& name) {
    from_.order.push_back(from_.files.count());
    from_.files.add(name, part.size);
    const bool text = !part.text.empty();
    from_.places.push_back({text ? Place::kText : shard_, text ? from_.texts.size() : part.offset});
    from_.texts += part.text;
  }

  ImageFolder& from_;
  const Format to_;
  std::uint32_t shard_ = 0;
  bool same_keys_ = false;
  std::unordered_set<std::uint64_t> keys_;
};

/// Samples of MDS that are copied have the columns of the packed shards.
void take_columns(ImageFolder& from, const std::vector<Listed>& all) {
  const formats::MdsColumns& first = *all.front().columns;
  for (std::uint32_t shard = 0; shard < all.size(); ++shard) {
    const formats::MdsColumns& own = *all[shard].columns;
    if (own.names != first.names || own.encodings != first.encodings || own.sizes != first.sizes)
      throw UsageError(fmt::format("pack: {} has other columns than {}: pack them apart", from.shards.full_path(shard),
                                   from.shards.full_path(0)));
  }
  for (std::size_t i = 0; i < first.sizes.size(); ++i)
    from.columns.push_back({.name = first.names[i], .encoding = first.encodings[i], .size = first.sizes[i]});
}

}  // namespace

void list_samples(ImageFolder& from, Format to, const DataProgress& progress) {
  from.whole = from.format == to;
  from.files.set_root(from.shards.root());
  std::vector<Listed> all(from.shards.count());
  std::atomic<std::uint64_t> done = 0;
  parallel_for(
      all.size(), kShardsAtOnce,
      [&](unsigned, std::uint64_t shard) {
        all[shard] = list_shard({from.shards, static_cast<std::uint32_t>(shard)}, from.format, from.whole);
        ++done;
      },
      [&] {
        if (progress) progress(done, all.size(), "listing shards");
      });
  if (from.whole && from.format == Format::mds) take_columns(from, all);
  Adding adding(from, to, all);
  std::uint64_t left_out = 0;
  for (std::uint32_t shard = 0; shard < all.size(); ++shard) {
    adding.add(shard, all[shard]);
    left_out += all[shard].left_out;
    all[shard] = {};
  }
  if (left_out > 0) from.left_out.emplace_back("file of no sample in a shard", left_out);
  if (from.samples.empty()) throw RunError(from.shards.root() + ": its shards hold no sample");
}

}  // namespace headrace::pack
