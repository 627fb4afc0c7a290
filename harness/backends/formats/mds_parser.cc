// Cuts an MDS shard into its samples while its bytes pass by.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "harness/backends/formats/little_endian.h"
#include "harness/backends/formats/mds.h"
#include "harness/backends/formats/sample_parser.h"

namespace headrace::formats {
namespace {

using Bytes = std::span<const unsigned char>;

class MdsParser final : public SampleParser {
 public:
  MdsParser(std::optional<MdsColumns> columns, Payload* keep)
      : columns_(std::move(columns)), keep_(keep), table_(4 * (std::size_t{kMostMdsSamples} + 2)) {}

  void begin() noexcept override {
    state_ = State::count;
    at_ = next_ = 0;
    count_ = 0;
    reported_ = false;
    same_settings_ = columns_.has_value();
    begin_sample();
  }

  Found take(std::span<const unsigned char> bytes) noexcept override {
    std::uint64_t used = 0;
    for (;;) {
      Found found;
      if (is_whole()) {
        found = finish();
      } else if (used < bytes.size() && !over()) {
        const std::uint64_t before = at_;
        found = step(bytes.subspan(used));
        used += at_ - before;
        if (found.kind == Found::Kind::more) continue;
      } else {
        if (over()) used = bytes.size();  // bytes after the last sample are ignored
      }
      found.used = used;
      return found;
    }
  }

  Found end() noexcept override {
    if (is_whole()) return finish();
    if (std::exchange(reported_, true)) return {.kind = Found::Kind::over};
    if (state_ != State::samples) return bad(compressed() ? Flaw::compressed : Flaw::truncated, 0);
    if (!over()) return bad(Flaw::truncated, offset(next_));
    if (count_ == 0) return bad(Flaw::no_sample, 0);
    return {.kind = Found::Kind::over};
  }

 private:
  enum class State : std::uint8_t { count, table, settings, samples };

  Found step(std::span<const unsigned char> bytes) noexcept {
    switch (state_) {
      case State::count:
        if (!keep(bytes, 4)) return {};
        count_ = little_endian_32(table_.data());
        if (count_ > kMostMdsSamples) return no_table();
        state_ = State::table;
        return {};
      case State::table:
        if (!keep(bytes, table_end())) return {};
        if (offset(0) < table_end()) return no_table();
        for (std::uint64_t i = 0; i < count_; ++i)
          if (offset(i) > offset(i + 1)) return no_table();
        state_ = State::settings;
        return begin_samples();
      case State::settings:
        compare_settings(bytes);
        return begin_samples();
      case State::samples:
        break;
    }
    sizes(bytes);
    return {};
  }

  /// Up to `end` of the shard's head. Is it all there?
  bool keep(std::span<const unsigned char> bytes, std::uint64_t end) noexcept {
    const std::uint64_t part = std::min<std::uint64_t>(end - at_, bytes.size());
    std::memcpy(table_.data() + at_, bytes.data(), part);
    at_ += part;
    return at_ == end;
  }
  /// Other settings than the data set's: which columns there are is not known.
  void compare_settings(std::span<const unsigned char> bytes) noexcept {
    const std::uint64_t part = std::min<std::uint64_t>(offset(0) - at_, bytes.size());
    const std::uint64_t from = at_ - table_end();
    same_settings_ = same_settings_ && from + part <= columns_->settings.size() &&
                     std::memcmp(columns_->settings.data() + from, bytes.data(), part) == 0;
    at_ += part;
  }
  Found begin_samples() noexcept {
    if (at_ < offset(0)) return {};
    same_settings_ = same_settings_ && columns_->settings.size() == offset(0) - table_end();
    state_ = State::samples;
    return {};
  }

  /// Adds up the sizes that the sample at hand begins with; its other bytes pass by.
  void sizes(std::span<const unsigned char> bytes) noexcept {
    const std::uint64_t part = std::min<std::uint64_t>(offset(next_ + 1) - at_, bytes.size());
    const std::uint64_t head = at_ - offset(next_);
    if (keep_ != nullptr) {
      if (head == 0) keep_->begin_whole(at_);
      keep_->add(bytes.first(part));
    }
    if (same_settings_ && head < sizes_length()) {
      const std::uint64_t here = std::min(part, sizes_length() - head);
      for (std::uint64_t i = 0; i < here; ++i) {
        word_[(head + i) % 4] = bytes[i];
        if ((head + i) % 4 == 3) reported_bytes_ += little_endian_32(word_.data());
      }
    }
    at_ += part;
  }

  bool over() const noexcept { return state_ == State::samples && next_ == count_; }
  bool is_whole() const noexcept { return state_ == State::samples && next_ < count_ && at_ == offset(next_ + 1); }
  Found finish() noexcept {
    const std::uint64_t begin = offset(next_), length = offset(next_ + 1) - begin;
    ++next_;
    Found found{.kind = Found::Kind::sample, .bytes = length, .offset = begin};
    if (same_settings_) {
      if (length < sizes_length() || reported_bytes_ + columns_->fixed + sizes_length() != length)
        found = bad(Flaw::column_sizes, begin);
      else
        found.bytes -= sizes_length();
    }
    if (keep_ != nullptr) keep_->choose(found.kind == Found::Kind::sample ? column(length) : Bytes{});
    begin_sample();
    return found;
  }
  void begin_sample() noexcept { reported_bytes_ = 0; }

  /// The first column that is to be decoded, of the sample that is kept. Empty where there is none, or columns are not
  /// known.
  Bytes column(std::uint64_t length) const noexcept {
    const Bytes sample = keep_->bytes();
    if (!same_settings_ || sample.size() != length) return {};
    std::uint64_t size_at = 0, at = sizes_length();
    Bytes other;
    for (const auto& fixed : columns_->sizes) {
      const std::uint64_t size = fixed ? *fixed : little_endian_32(&sample[size_at]);
      if (!fixed) size_at += 4;
      const Bytes part = sample.subspan(at, size);
      if (keep_->fits(part)) return part;
      if (other.empty() && keep_->fits_others(part)) other = part;
      at += size;
    }
    return other;
  }

  std::uint64_t sizes_length() const noexcept { return 4 * columns_->variable; }
  std::uint64_t table_end() const noexcept { return 8 + 4 * std::uint64_t{count_}; }
  std::uint64_t offset(std::uint64_t sample) const noexcept { return little_endian_32(&table_[4 + 4 * sample]); }
  bool compressed() const noexcept {
    return looks_compressed(std::span(table_).first(std::min<std::uint64_t>(at_, 8)));
  }
  Found no_table() noexcept { return bad(compressed() ? Flaw::compressed : Flaw::bad_table, 0); }
  static Found bad(Flaw flaw, std::uint64_t offset) noexcept {
    return {.kind = Found::Kind::bad, .flaw = flaw, .offset = offset};
  }

  const std::optional<MdsColumns> columns_;
  Payload* const keep_;
  std::vector<unsigned char> table_;  // a shard's first bytes: the count, and where samples begin
  State state_ = State::count;
  std::uint64_t at_ = 0, next_ = 0;  // in the shard [B]; the sample at hand
  std::uint32_t count_ = 0;
  bool same_settings_ = false, reported_ = false;
  std::array<unsigned char, 4> word_{};
  std::uint64_t reported_bytes_ = 0;  // of the sample at hand, by its own sizes
};

}  // namespace

std::unique_ptr<SampleParser> mds_parser(const std::optional<MdsColumns>& columns, Payload* keep) {
  return std::make_unique<MdsParser>(columns, keep);
}

}  // namespace headrace::formats
