#include "workloads/storage/input_pipeline/own_shards.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

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

using formats::Flaw;
using formats::Format;
using formats::Found;

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
        parser_(parser_of(all, keep_.get())),
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
    parser_->begin();
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
  std::unique_ptr<formats::SampleParser> parser_;
  std::vector<std::uint32_t> order_;  // positions in shards_
  bool begun_ = false;
  std::size_t first_ = 0, turn_ = 0;      // in order_: where the phase began, and how many it has read since
  std::uint64_t head_ = 0;                // of the first one, which an earlier phase has read
  std::uint64_t skip_ = 0;                // of the next block: it was parsed before
  std::uint64_t offset_ = 0;              // in the shard: what is to be read next
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
  const std::uint64_t ahead_;  // 0: nothing is fetched beside what is asked for
  std::vector<unsigned char> range_;
  std::uint64_t begin_ = 0;  // of range_, in the file
};

system::UniqueFd opened(const FileTable& files, std::uint32_t file) {
  return system::open_quiet(files.root_fd(), files.path(file), O_NOFOLLOW);
}

/// "a.mds.zstd" -> "a.mds"; "" of a shard that is not compressed.
std::string_view unpacked_name(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return path.substr(0, dot).ends_with(".mds") ? path.substr(0, dot) : std::string_view{};
}

/// StreamingDataset reads shards as they lie in its local folder once they are unpacked; with keep_zip what they came of lies
/// beside them.
void leave_out_packed(const FileTable& files, OwnShards& shards) {
  std::set<std::string_view> plain;
  for (const std::uint32_t file : shards.files) plain.insert(files.name(file));
  const auto packed_again = [&](std::uint32_t file) { return plain.contains(unpacked_name(files.name(file))); };
  shards.others += static_cast<std::uint32_t>(std::erase_if(shards.files, packed_again));
  const auto is_packed = [&](std::uint32_t file) { return !unpacked_name(files.name(file)).empty(); };
  if (!std::all_of(shards.files.begin(), shards.files.end(), is_packed)) return;
  const std::string path = files.full_path(shards.files.front());
  throw RunError(fmt::format(
      "{}: compressed MDS shards ({}) are not read, and all {} are compressed. StreamingDataset unpacks them into its "
      "local folder: give that folder, or unpack them next to their index.json",
      path, path.substr(path.rfind('.') + 1), shards.files.size()));
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

OwnShards own_shards(const DataSet& data) {
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
  leave_out_packed(files, shards);
  for (std::size_t i = 0; !shards.columns && i < shards.files.size() && i < 8; ++i)
    if (const auto fd = opened(files, shards.files[i]))
      shards.columns = formats::mds_columns_of(fd.get(), files.size(shards.files[i]));
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
    : keep_(std::move(keep)), parser_(parser_of(all, keep_.get())) {}

void FileSamples::begin(std::span<const unsigned char> file) noexcept {
  rest_ = file;
  lost_ = false;
  parser_->begin();
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
  std::vector<unsigned char> bytes;
  for (const std::uint32_t file : all.files) {
    OpenedFile from = data.opened(file, POSIX_FADV_SEQUENTIAL);
    if (!from.is_open()) continue;
    bytes.resize(std::min(data.files().size(file), kMost));
    std::size_t got = 0;
    while (got < bytes.size()) {
      const std::int64_t n = from.read(got, bytes.data() + got, bytes.size() - got);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    samples.begin(std::span(bytes).first(got));
    Flaw flaw;
    std::uint64_t offset = 0;
    while (samples.next(flaw, offset))
      if (flaw == Flaw::none && !seen(samples.bytes(), file, offset)) return;
  }
}

}  // namespace headrace
