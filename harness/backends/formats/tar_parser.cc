// Groups the members of a tar file into samples while its bytes pass by.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "harness/backends/formats/sample_parser.h"
#include "harness/backends/formats/tar.h"

namespace headrace::formats {
namespace {

constexpr std::size_t kLongest = 1 << 16;                   // of pax records and of names [B]
constexpr std::uint64_t kLargest = std::uint64_t{1} << 60;  // of a member [B]
constexpr std::size_t kMostParts = 64;                      // of one sample

class TarParser final : public SampleParser {
 public:
  TarParser(const std::vector<std::string>& parts, Payload* keep)
      : parts_(parts), keep_(keep), text_(kLongest), key_(kLongest) {}

  void begin() noexcept override {
    state_ = State::header;
    at_ = filled_ = left_ = samples_ = 0;
    forget_names();
    forget_sample();
    ended_ = any_ = reported_ = keeps_ = kept_one_ = false;
    lost_ = {};
    if (keep_ != nullptr) keep_->begin();
  }

  Found take(std::span<const unsigned char> bytes) noexcept override {
    keep_next();
    if (lost_.kind == Found::Kind::bad) return std::exchange(lost_, {});
    Found found;
    while (found.kind == Found::Kind::more && found.used < bytes.size()) {
      const auto rest = bytes.subspan(found.used);
      const std::uint64_t before = at_;
      const Found next = step(rest);
      const std::uint64_t used = found.used + (at_ - before);
      found = next;
      found.used = used;
    }
    return found;
  }

  Found end() noexcept override {
    keep_next();
    if (lost_.kind == Found::Kind::bad) return std::exchange(lost_, {});
    const bool in_body = state_ == State::body && left_ > padding_;
    const bool in_header = state_ == State::text || (state_ == State::header && filled_ > 0);
    // A header that is cut off may belong to the same sample. A sample with all its parts counts as whole.
    if (key_length_ > 0 && !in_body && (!in_header || flaw() == Flaw::none)) return finish();
    if (std::exchange(reported_, true)) return {.kind = Found::Kind::over};
    if (in_header && at_ == filled_ && looks_compressed(std::span(block_).first(filled_)))
      return bad(Flaw::compressed, 0);
    if (in_body || in_header) return bad(Flaw::truncated, key_length_ > 0 ? sample_at_ : at_);
    if (samples_ == 0 && (!ended_ || any_)) return bad(Flaw::no_sample, 0);  // tarfile passes by one that is empty
    return {.kind = Found::Kind::over};
  }

 private:
  enum class State : std::uint8_t { header, body, text };

  Found step(std::span<const unsigned char> bytes) noexcept {
    if (ended_) {  // bytes after the end are ignored
      at_ += bytes.size();
      return {};
    }
    if (state_ == State::header) return header(bytes);
    const std::uint64_t part = std::min<std::uint64_t>(left_, bytes.size());
    if (state_ == State::text) keep(bytes.first(part));
    if (keeps_ && left_ > padding_) keep_->add(bytes.first(std::min(part, left_ - padding_)));
    left_ -= part;
    at_ += part;
    if (left_ == 0 && std::exchange(state_, State::header) == State::text) close_text();
    return {};
  }

  /// The found sample is done: its place is for the next one, whose first member has begun.
  void keep_next() noexcept {
    if (!std::exchange(kept_one_, false)) return;
    keep_->begin();
    keep_->begin_part(part_at_);
  }

  Found header(std::span<const unsigned char> bytes) noexcept {
    keeps_ = false;
    const std::uint64_t part = std::min<std::uint64_t>(kTarBlock - filled_, bytes.size());
    std::memcpy(block_.data() + filled_, bytes.data(), part);
    filled_ += part;
    at_ += part;
    if (filled_ < kTarBlock) return {};
    filled_ = 0;
    const std::uint64_t begin = at_ - kTarBlock;
    if (is_zero(TarBlock(block_))) {
      ended_ = true;
      return key_length_ > 0 ? finish() : Found{};
    }
    const auto header = tar_header(TarBlock(block_));
    if (!header || header->size > kLargest)
      return give_up(begin == 0 && looks_compressed(block_) ? Flaw::compressed : Flaw::bad_header, begin);
    any_ = true;
    switch (header->type) {
      case '0':
        return member(*header, begin);
      case 'x':
      case 'L':
        if (header->size > kLongest) return give_up(Flaw::unsupported, begin);
        text_of_ = header->type;
        text_length_ = header->size;
        have_ = 0;
        return goes_on(State::text, header->size);
      case 'S': {
        const Found found = member(*header, begin);
        if (block_[kSparseGoesOn] != 0) read_map(left_, padding_);
        return found;
      }
      default:
        // Links, devices and folders have no bytes; a name that was reported was theirs.
        forget_names();
        return goes_on(State::body, header->type >= '1' && header->type <= '6' ? 0 : header->size);
    }
  }

  Found member(const TarHeader& header, std::uint64_t begin) noexcept {
    std::array<char, 256> short_name;
    std::string_view name(name_.data(), name_length_);
    if (name_length_ == 0) {
      const std::size_t length = tar_name(TarBlock(block_), header.has_prefix, short_name);
      name = {short_name.data(), length};
    }
    const std::uint64_t size = size_.value_or(header.size);
    if (size > kLargest) return give_up(Flaw::unsupported, begin);
    const SampleName sample = sample_name(name);
    Found found;
    if (!sample.key.empty()) {
      if (sample.key != std::string_view(key_.data(), key_length_)) {
        if (key_length_ > 0) found = finish();
        std::memcpy(key_.data(), sample.key.data(), sample.key.size());
        key_length_ = sample.key.size();
        sample_at_ = begin;
      }
      keeps_ = keep_ != nullptr && !sparse_ && header.type != 'S';  // a file with holes is read, and not decoded
      part_at_ = at_;
      if (keeps_ && !kept_one_) keep_->begin_part(at_);
      sample_bytes_ += size;
      apple_ = apple_ || is_apple_double(sample);
      add(sample.part);
    }
    forget_names();
    goes_on(State::body, size);
    return found;
  }

  Found goes_on(State state, std::uint64_t size) noexcept {
    padding_ = tar_padding(size);
    left_ = size + padding_;
    state_ = left_ == 0 ? State::header : state;
    return {};
  }

  /// Pax records and long names, without their padding.
  void keep(std::span<const unsigned char> bytes) noexcept {
    const std::size_t part = std::min<std::size_t>(text_length_ - std::min(have_, text_length_), bytes.size());
    std::memcpy(text_.data() + have_, bytes.data(), part);
    have_ += part;
  }
  void close_text() noexcept {
    const std::string_view text(text_.data(), text_length_);
    if (text_of_ == 'S') {
      if (text[kMapGoesOn] != 0) return read_map(body_left_, body_padding_);
      left_ = body_left_;
      padding_ = body_padding_;
      state_ = left_ > 0 ? State::body : State::header;
      return;
    }
    if (text_of_ == 'L') return keep_name(text.substr(0, text.find('\0')));
    sparse_ = is_sparse(text);
    if (const auto path = pax_path(text)) keep_name(*path);
    if (const auto reported = pax_value(text, "size")) {
      std::uint64_t size = 0;
      if (std::from_chars(reported->data(), reported->data() + reported->size(), size).ec == std::errc{}) size_ = size;
    }
  }
  /// A further block of the map of a sparse file, before its bytes.
  void read_map(std::uint64_t left, std::uint64_t padding) noexcept {
    body_left_ = left;
    body_padding_ = padding;
    text_of_ = 'S';
    text_length_ = kTarBlock;
    have_ = 0;
    keeps_ = false;
    goes_on(State::text, kTarBlock);
  }
  void keep_name(std::string_view name) noexcept {
    name_length_ = std::min(name.size(), name_.size());
    std::memcpy(name_.data(), name.data(), name_length_);
  }
  void forget_names() noexcept {
    name_length_ = 0;
    sparse_ = false;
    size_.reset();
  }

  /// One more part of the sample at hand.
  void add(std::string_view part) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(lower(c))) * 0x100000001b3;
    const auto end = hashes_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, kMostParts));
    if (std::find(hashes_.begin(), end, hash) != end) doubled_ = true;
    if (count_ < kMostParts) hashes_[count_] = hash;
    ++count_;
    const auto is = [&](const std::string& wanted) {
      return wanted == "image" ? is_image(part)
                               : std::equal(wanted.begin(), wanted.end(), part.begin(), part.end(),
                                            [&](char a, char b) { return a == lower(b); });
    };
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (is(parts_[i])) there_ |= 1u << i;
  }

  Flaw flaw() const noexcept {
    if (apple_) return Flaw::apple_double;
    if (doubled_) return Flaw::duplicate_part;
    return there_ == (1u << parts_.size()) - 1 ? Flaw::none : Flaw::missing_part;
  }
  Found finish() noexcept {
    Found found{.kind = Found::Kind::sample, .bytes = sample_bytes_, .offset = sample_at_};
    if (flaw() != Flaw::none) found = bad(flaw(), sample_at_);
    ++samples_;
    kept_one_ = keep_ != nullptr;
    forget_sample();
    return found;
  }
  void forget_sample() noexcept {
    key_length_ = 0;
    sample_bytes_ = count_ = there_ = 0;
    doubled_ = apple_ = false;
  }
  /// A whole sample before the lost bytes comes first.
  Found give_up(Flaw why, std::uint64_t begin) noexcept {
    if (key_length_ == 0 || flaw() != Flaw::none) return bad(why, begin);
    lost_ = bad(why, begin);
    return finish();
  }
  static Found bad(Flaw flaw, std::uint64_t offset) noexcept {
    return {.kind = Found::Kind::bad, .flaw = flaw, .offset = offset};
  }

  const std::vector<std::string> parts_;
  Payload* const keep_;
  State state_ = State::header;
  std::array<unsigned char, kTarBlock> block_{};
  std::uint64_t at_ = 0, filled_ = 0;               // in the shard; of block_
  std::uint64_t left_ = 0, padding_ = 0;            // of the content after a header, with its padding
  std::uint64_t body_left_ = 0, body_padding_ = 0;  // of a sparse file whose map is being read
  bool sparse_ = false;                             // the next member, by its pax records
  char text_of_ = 0;                                // 'x', 'L', or 'S': a sparse file's map
  std::size_t text_length_ = 0, have_ = 0;          // in text_
  std::vector<char> text_;
  std::array<char, kLongest> name_{};
  std::size_t name_length_ = 0;  // 0 = the header's own
  std::optional<std::uint64_t> size_;

  std::vector<char> key_;  // of the sample at hand
  std::size_t key_length_ = 0;
  std::uint64_t sample_at_ = 0, sample_bytes_ = 0, samples_ = 0;
  std::array<std::uint64_t, kMostParts> hashes_{};
  std::size_t count_ = 0;
  unsigned there_ = 0;                    // a bit for each of parts_
  Found lost_;                            // to be reported next
  std::uint64_t part_at_ = 0;             // of the member at hand, in the shard
  bool keeps_ = false;                    // its bytes are for keep_
  bool kept_one_ = false;                 // which still has the sample before
  bool doubled_ = false, apple_ = false;  // of the sample at hand
  bool ended_ = false, reported_ = false;
  bool any_ = false;  // member of the archive
};

}  // namespace

std::unique_ptr<SampleParser> tar_parser(const std::vector<std::string>& parts, Payload* keep) {
  return std::make_unique<TarParser>(parts, keep);
}

bool looks_compressed(std::span<const unsigned char> first) noexcept {
  constexpr std::string_view kMagic[] = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh",
                                         "\xfd"
                                         "7zXZ"};
  return std::any_of(std::begin(kMagic), std::end(kMagic), [first](std::string_view magic) {
    return first.size() >= magic.size() && std::memcmp(first.data(), magic.data(), magic.size()) == 0;
  });
}

}  // namespace headrace::formats
