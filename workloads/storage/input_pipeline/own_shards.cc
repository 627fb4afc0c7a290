#include "workloads/storage/input_pipeline/own_shards.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/backends/codec.h"
#include "harness/backends/formats/sample_parser.h"
#include "harness/backends/formats/tar.h"
#include "harness/base/clock.h"
#include "harness/base/error.h"
#include "harness/base/random.h"
#include "harness/base/system/open_quiet.h"
#include "harness/workload/data/opened_file.h"
#include "harness/workload/data/shard_files.h"

namespace headrace {
namespace {

// A shard that is compressed as a whole: collected, unpacked, and then parsed, as StreamingDataset does.

using formats::Flaw;
using formats::Found;

class UnpackingParser final : public formats::SampleParser {
 public:
  UnpackingParser(std::unique_ptr<formats::SampleParser> inner, const Codec& codec)
      : inner_(std::move(inner)), decoder_(codec.byte_decoder({.bytes = kMost})) {}

  void begin() noexcept override {
    packed_.clear();
    rest_ = {};
    unpacked_ = lost_ = false;
  }

  Found take(std::span<const unsigned char> bytes) noexcept override {
    try {
      packed_.insert(packed_.end(), bytes.begin(), bytes.end());
    } catch (const std::bad_alloc&) {
      lost_ = true;
      return {.kind = Found::Kind::bad, .flaw = Flaw::cannot_unpack, .used = bytes.size()};
    }
    return {.used = bytes.size()};
  }

  Found end() noexcept override {
    if (lost_) return {.kind = Found::Kind::over};
    if (!std::exchange(unpacked_, true)) {
      DecodeError error;
      if (!decoder_->decode(packed_, rest_, error)) {
        lost_ = true;
        return {.kind = Found::Kind::bad, .flaw = Flaw::cannot_unpack};
      }
      inner_->begin();
    }
    while (!rest_.empty()) {
      const Found found = inner_->take(rest_);
      rest_ = rest_.subspan(std::min<std::size_t>(found.used, rest_.size()));
      if (found.kind != Found::Kind::more) return found;
    }
    return inner_->end();
  }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{4} << 30;  // places in MDS shards have 4 bytes [B]

  std::unique_ptr<formats::SampleParser> inner_;
  std::unique_ptr<ByteDecoder> decoder_;
  std::vector<unsigned char> packed_;
  std::span<const unsigned char> rest_;  // of the unpacked shard
  bool unpacked_ = false, lost_ = false;
};

/// "a.mds.zstd" -> "a.mds"; "" of a shard that is not compressed.
std::string_view unpacked_name(std::string_view path) {
  const std::size_t dot = std::min(path.rfind('.'), path.size());
  return path.substr(0, dot).ends_with(".mds") ? path.substr(0, dot) : std::string_view{};
}

/// Takes the bytes of a compressed shard, and gives the samples that `inner` finds in the unpacked ones. It gives them
/// with end(): no sample can be used before the shard is complete. Offsets are those in the unpacked shard.
std::unique_ptr<formats::SampleParser> unpacking_parser(std::unique_ptr<formats::SampleParser> inner,
                                                        const Codec& codec) {
  return std::make_unique<UnpackingParser>(std::move(inner), codec);
}

using formats::Format;

class ParsedShards final : public SampleSource {
 public:
  ParsedShards(std::unique_ptr<BlockReader> reader, const FileTable& files, std::vector<std::uint32_t> shards,
               std::uint64_t block_size, const OwnShards& all, std::unique_ptr<formats::Payload> keep, bool continued)
      : reader_(std::move(reader)),
        files_(files),
        shards_(std::move(shards)),
        block_size_(block_size),
        continued_(continued),
        keep_(std::move(keep)),
        parsers_(all, keep_.get()),
        order_(shards_.size()) {}
  void attach() override { reader_->attach(); }
  void detach() noexcept override { reader_->detach(); }

  void rewind(std::uint64_t seed) override {
    if (continued_ && begun_) return go_on();
    std::iota(order_.begin(), order_.end(), 0u);
    Random random(seed);
    shuffle(std::span(order_), random);
    begun_ = true;
    first_ = turn_ = 0;
    head_ = 0;
    begin_shard();
  }
  /// Whether there is a whole batch, only parsing reports.
  bool has(std::uint64_t) noexcept override { return !is_over(); }

  SampleRead read(std::uint64_t, std::uint64_t) noexcept override {
    SampleRead done;
    while (!is_over()) {
      Found found;
      if (at_hand_ > 0) {
        found = parser_->take({reader_->data(0) + used_, at_hand_});
        used_ += found.used;
        at_hand_ -= found.used;
      } else if (offset_ < files_.size(file())) {
        if (!fetch(done)) return done;
        continue;
      } else {
        found = parser_->end();
      }
      if (found.kind == Found::Kind::more) continue;
      if (found.kind == Found::Kind::over) {
        next_shard();
        continue;
      }
      done.end_ns = now_ns();  // with parsing
      if (done.begin_ns == 0) done.begin_ns = done.end_ns;
      if (found.kind == Found::Kind::sample && keep_) found.flaw = keep_->flaw();
      if (found.kind == Found::Kind::sample && found.flaw == Flaw::none) {
        done.file = file();
        if (keep_) done.data = keep_->bytes(), done.data_offset = keep_->offset();
        return done;
      }
      done.error = {.code = OperationError::kBadSample,
                    .file = file(),
                    .offset = found.offset,
                    .flaw = static_cast<std::uint8_t>(found.flaw)};
      if (rest_is_lost(found.flaw)) next_shard();
      return done;
    }
    done.over = true;
    done.end_ns = now_ns();
    return done;
  }

 private:
  std::size_t at() const noexcept { return order_[(first_ + turn_) % order_.size()]; }
  std::uint32_t file() const noexcept { return shards_[at()]; }
  std::uint64_t parsed_to() const noexcept { return offset_ - at_hand_; }
  /// All shards were read; last of all the head of the one that the phase began within.
  bool is_over() const noexcept { return turn_ > order_.size() || (turn_ == order_.size() && parsed_to() >= head_); }
  /// From where the last phase ended, and around. The parser is where it was: of the block that it was in the rest is read
  /// again.
  void go_on() noexcept {
    if (order_.empty()) return;
    if (turn_ >= order_.size() && head_ == 0) {
      turn_ = 0;
      return begin_shard();
    }
    first_ = (first_ + turn_) % order_.size();
    turn_ = 0;
    head_ = parsed_to();
    offset_ = head_ / block_size_ * block_size_;
    skip_ = head_ - offset_;
    at_hand_ = used_ = 0;
  }
  void begin_shard() noexcept {
    offset_ = at_hand_ = used_ = skip_ = 0;
    parser_ = order_.empty() ? parser_ : parsers_.begin(files_.name(file()));
  }
  void next_shard() noexcept {
    ++turn_;
    begin_shard();
  }
  /// The next block of the shard. False: it could not be read, and the shard is given up.
  bool fetch(SampleRead& done) noexcept {
    const std::uint64_t wanted = std::min(block_size_, files_.size(file()) - offset_);
    const BlockRequest request{
        .file = static_cast<std::uint32_t>(at()), .offset = offset_, .length = static_cast<std::uint32_t>(wanted)};
    if (!read_block(*reader_, request, wanted, file(), done)) {
      next_shard();
      return false;
    }
    offset_ += wanted;
    used_ = std::exchange(skip_, 0);
    at_hand_ = wanted - used_;
    return true;
  }

  std::unique_ptr<BlockReader> reader_;
  const FileTable& files_;
  const std::vector<std::uint32_t> shards_;
  const std::uint64_t block_size_;
  const bool continued_;
  std::unique_ptr<formats::Payload> keep_;  // outlives the parser
  ShardParsers parsers_;
  formats::SampleParser* parser_ = nullptr;
  std::vector<std::uint32_t> order_;  // positions in shards_
  bool begun_ = false;
  std::size_t first_ = 0, turn_ = 0;      // in order_: where the phase began, and how many it has read since
  std::uint64_t head_ = 0;                // of the first one, which an earlier phase has read
  std::uint64_t skip_ = 0;                // of the next block: it was parsed before
  std::uint64_t offset_ = 0;              // in the shard: the next position to read
  std::uint64_t at_hand_ = 0, used_ = 0;  // of the block that was read last
};

/// One file or object of a data set, looked into at any place. Of an object a range is fetched at a time, as each request takes
/// its time.
class Look {
 public:
  Look(const DataSet& data, std::uint32_t file)
      : from_(data.opened(file, POSIX_FADV_NORMAL)), ahead_(data.files().holds_objects() ? kRange : 0) {}

  formats::BytesAt bytes() {
    return [this](std::uint64_t offset, unsigned char* to, std::uint64_t length) -> std::int64_t {
      if (!from_.is_open()) return -1;
      if (length >= ahead_) return from_.read(offset, to, length);
      if (offset < begin_ || offset + length > begin_ + range_.size()) {
        range_.resize(ahead_);
        const std::int64_t got = from_.read(offset, range_.data(), range_.size());
        range_.resize(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
        begin_ = offset;
        if (got < 0) return got;
      }
      const std::uint64_t here = offset - begin_, part = std::min<std::uint64_t>(length, range_.size() - here);
      std::copy_n(range_.begin() + static_cast<std::ptrdiff_t>(here), part, to);
      return static_cast<std::int64_t>(part);
    };
  }

 private:
  static constexpr std::uint64_t kRange = 256 << 10;  // headers of a few samples as they usually are [B]

  OpenedFile from_;
  const std::uint64_t ahead_;  // 0: no bytes are fetched in addition to the requested ones
  std::vector<unsigned char> range_;
  std::uint64_t begin_ = 0;  // of range_, in the file
};

/// Up to `most` of its bytes; fewer if it cannot be read.
std::vector<unsigned char> first_bytes(const DataSet& data, std::uint32_t file, std::uint64_t most) {
  OpenedFile from = data.opened(file, POSIX_FADV_SEQUENTIAL);
  std::vector<unsigned char> bytes(from.is_open() ? std::min(data.files().size(file), most) : 0);
  std::size_t got = 0;
  while (got < bytes.size()) {
    const std::int64_t n = from.read(got, bytes.data() + got, bytes.size() - got);
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

std::optional<formats::MdsColumns> columns_of(const DataSet& data, std::uint32_t file, const Codec* zstd) {
  const FileTable& files = data.files();
  if (unpacked_name(files.name(file)).empty()) {
    const auto fd = system::open_quiet(files.root_fd(), files.path(file), O_NOFOLLOW);
    return fd ? formats::mds_columns_of(fd.get(), files.size(file)) : std::nullopt;
  }
  const std::vector<unsigned char> packed = first_bytes(data, file, UINT32_MAX);
  std::span<const unsigned char> shard;
  DecodeError error;
  const auto decoder = zstd->byte_decoder({});
  if (!decoder->decode(packed, shard, error)) return std::nullopt;
  return formats::mds_columns_in(shard);
}

/// StreamingDataset reads unpacked shards directly from its local folder; with keep_zip the packed ones stay next to
/// them. Others are unpacked, if zstd packed them.
void find_packed(const FileTable& files, OwnShards& shards, const std::string& why_not) {
  std::set<std::string_view> plain;
  for (const std::uint32_t file : shards.files) plain.insert(files.name(file));
  const auto packed_again = [&](std::uint32_t file) { return plain.contains(unpacked_name(files.name(file))); };
  shards.others += static_cast<std::uint32_t>(std::erase_if(shards.files, packed_again));
  for (const std::uint32_t file : shards.files) {
    if (unpacked_name(files.name(file)).empty()) continue;
    ++shards.packed;
    const std::string path = files.full_path(file), end = path.substr(path.rfind('.') + 1);
    if (end == "zstd" && shards.unpacks != nullptr) continue;
    throw RunError(
        fmt::format("{}: compressed MDS shards ({}) cannot be read: {}. StreamingDataset unpacks them into its "
                    "local folder: give that folder, or unpack them next to their index.json",
                    path, end, end == "zstd" ? why_not : "headrace unpacks those of zstd only"));
  }
}

}  // namespace

std::vector<std::uint32_t> OwnShards::of(unsigned worker, unsigned workers, unsigned node, unsigned nodes) const {
  std::vector<std::uint32_t> own;
  for (std::size_t i = node; i < files.size(); i += nodes)
    if (i / nodes % workers == worker) own.push_back(files[i]);
  return own;
}

std::unique_ptr<formats::SampleParser> parser_of(const OwnShards& all, formats::Payload* keep) {
  if (all.format == Format::mds) return formats::mds_parser(all.columns, keep);
  return all.format == Format::tar ? formats::tar_parser(all.parts, keep) : formats::tfrecord_parser(keep);
}

ShardParsers::ShardParsers(const OwnShards& all, formats::Payload* keep) : plain_(parser_of(all, keep)) {
  if (all.packed > 0) packed_ = unpacking_parser(parser_of(all, keep), *all.unpacks);
}

formats::SampleParser* ShardParsers::begin(std::string_view name) noexcept {
  formats::SampleParser* parser = packed_ && !unpacked_name(name).empty() ? packed_.get() : plain_.get();
  parser->begin();
  return parser;
}

OwnShards own_shards(const DataSet& data, const Codec* zstd, const std::string& why_not) {
  const FileTable& files = data.files();
  ShardFiles found = shard_files(files, [&data](std::uint32_t file) {
    return [look = std::make_shared<Look>(data, file)](std::uint64_t offset, unsigned char* to, std::uint64_t length) {
      return look->bytes()(offset, to, length);
    };
  });
  OwnShards shards;
  shards.format = found.format;
  shards.others = found.others;
  shards.foreign = found.foreign;
  shards.files = std::move(found.files);
  for (const std::string& name : data.empty_files())
    if (found.has(name)) shards.empty.push_back(name);
  if (shards.format == Format::mds)
    for (std::uint32_t file = 0; file < files.count(); ++file) shards.others -= is_mds_index(files.name(file));
  for (std::size_t i = 0; shards.format == Format::tar && shards.parts.empty() && i < shards.files.size() && i < 8; ++i)
    shards.parts = formats::parts_of_first_samples(Look(data, shards.files[i]).bytes(), files.size(shards.files[i]));
  if (shards.format != Format::mds) return shards;
  shards.unpacks = zstd;
  find_packed(files, shards, why_not);
  for (std::size_t i = 0; !shards.columns && i < shards.files.size() && i < 8; ++i)
    shards.columns = columns_of(data, shards.files[i], zstd);
  shards.faults = mds_index_faults(files, shards.files, data.empty_files());
  return shards;
}

std::unique_ptr<SampleSource> own_shards_source(std::unique_ptr<BlockReader> reader, const FileTable& files,
                                                std::vector<std::uint32_t> shards, std::uint64_t block_size,
                                                const OwnShards& all, std::unique_ptr<formats::Payload> keep,
                                                bool continued) {
  return std::make_unique<ParsedShards>(std::move(reader), files, std::move(shards), block_size, all, std::move(keep),
                                        continued);
}

FileSamples::FileSamples(const OwnShards& all, std::unique_ptr<formats::Payload> keep)
    : keep_(std::move(keep)), parsers_(all, keep_.get()), parser_(parsers_.begin("")) {}

void FileSamples::begin(std::span<const unsigned char> file, std::string_view name) noexcept {
  rest_ = file;
  lost_ = false;
  parser_ = parsers_.begin(name);
}

bool FileSamples::next(formats::Flaw& flaw, std::uint64_t& offset) noexcept {
  while (!lost_) {
    const Found found = rest_.empty() ? parser_->end() : parser_->take(rest_);
    rest_ = rest_.subspan(std::min<std::size_t>(found.used, rest_.size()));
    if (found.kind == Found::Kind::more) continue;
    if (found.kind == Found::Kind::over) return false;
    flaw = found.kind == Found::Kind::sample ? keep_->flaw() : found.flaw;
    offset = flaw == Flaw::none ? keep_->offset() : found.offset;
    lost_ = rest_is_lost(flaw);
    return true;
  }
  return false;
}

void first_samples(const DataSet& data, const OwnShards& all, std::unique_ptr<formats::Payload> keep,
                   const std::function<bool(std::span<const unsigned char>, std::uint32_t, std::uint64_t)>& seen) {
  FileSamples samples(all, std::move(keep));
  constexpr std::uint64_t kMost = 64 << 20;  // of one shard: enough for samples to be taken from [B]
  for (const std::uint32_t file : all.files) {
    const std::vector<unsigned char> bytes = first_bytes(data, file, kMost);
    if (bytes.empty()) continue;
    samples.begin(bytes, data.files().name(file));
    Flaw flaw;
    std::uint64_t offset = 0;
    while (samples.next(flaw, offset))
      if (flaw == Flaw::none && !seen(samples.bytes(), file, offset)) return;
  }
}

}  // namespace headrace
