#include "harness/backends/formats/tfrecord.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "harness/backends/formats/crc32c.h"
#include "harness/backends/formats/sample_parser.h"

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie in memory");

namespace headrace::formats {
namespace {

std::span<const unsigned char> bytes_of(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}
template <class T>
void put(T number, std::string& out) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Base 128, low digits first.
void put_varint(std::uint64_t value, std::string& out) {
  for (; value >= 128; value >>= 7) out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}
/// Field `number` of a message, whose value is bytes.
void put_field(unsigned number, std::string_view bytes, std::string& out) {
  put_varint(number << 3 | 2, out);
  put_varint(bytes.size(), out);
  out += bytes;
}

using Bytes = std::span<const unsigned char>;

/// A varint of `from`, which is shortened by it; false: there is none.
bool get_varint(Bytes& from, std::uint64_t& value) noexcept {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const unsigned char byte = from.front();
    from = from.subspan(1);
    value |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return true;
  }
  return false;
}

/// The next field of `from`, which is shortened by it: its tag, and the bytes of its value. False: there is none.
bool get_field(Bytes& from, std::uint64_t& tag, Bytes& value) noexcept {
  if (!get_varint(from, tag)) return false;
  Bytes rest = from;
  std::uint64_t length = 0;
  switch (tag & 7) {
    case 0:
      if (!get_varint(rest, length)) return false;
      length = from.size() - rest.size();
      break;
    case 1:
      length = 8;
      break;
    case 2:
      if (!get_varint(from, length)) return false;
      break;
    case 5:
      length = 4;
      break;
    default:
      return false;
  }
  if (length > from.size()) return false;
  value = from.first(length);
  from = from.subspan(length);
  return true;
}

/// The path from a tf.train.Example (below) to a value of bytes.
constexpr std::array<std::uint64_t, 5> kToValue{1, 1, 2, 1, 1};

using Fits = bool (Payload::*)(Bytes) const noexcept;

/// The first value of bytes in `message` that `keep` wants, by `fits`; `depth` of kToValue have been gone.
Bytes find_value(Bytes message, const Payload& keep, Fits fits, std::size_t depth = 0) noexcept {
  std::uint64_t tag;
  for (Bytes field; get_field(message, tag, field);) {
    if (tag != (kToValue[depth] << 3 | 2)) continue;
    const bool last = depth + 1 == kToValue.size();
    const Bytes found = !last ? find_value(field, keep, fits, depth + 1) : (keep.*fits)(field) ? field : Bytes{};
    if (!found.empty()) return found;
  }
  return {};
}

constexpr std::uint64_t kFirst = 1 << 3 | 2, kSecond = 2 << 3 | 2, kThird = 3 << 3 | 2;  // tags of messages

/// `kind`: the tag of a feature's list.
bool get_values(Bytes list, std::uint64_t kind, Feature& into) {
  std::uint64_t tag, number;
  for (Bytes field; !list.empty();) {
    if (!get_field(list, tag, field) || tag >> 3 != 1) return false;
    if (kind == kFirst && tag == kFirst) {
      into.bytes.push_back(field);
    } else if (kind == kSecond && field.size() % sizeof(float) == 0) {
      for (; !field.empty(); field = field.subspan(sizeof(float)))
        std::memcpy(&into.floats.emplace_back(), field.data(), sizeof(float));
    } else if (kind == kThird) {
      for (; !field.empty(); into.numbers.push_back(static_cast<std::int64_t>(number)))
        if (!get_varint(field, number)) return false;
    } else {
      return false;
    }
  }
  return true;
}

/// `entry`: of the map of features.
bool get_feature(Bytes entry, Feature& into) {
  std::uint64_t tag;
  Bytes field, kinds;
  while (!entry.empty()) {
    if (!get_field(entry, tag, field) || (tag != kFirst && tag != kSecond)) return false;
    if (tag == kSecond)
      kinds = field;
    else
      into.name.assign(field.begin(), field.end());
  }
  while (!kinds.empty())
    if (!get_field(kinds, tag, field) || !get_values(field, tag, into)) return false;
  return true;
}

class RecordParser final : public SampleParser {
 public:
  explicit RecordParser(Payload* keep) : keep_(keep) {}
  void begin() noexcept override {
    at_ = begin_ = filled_ = left_ = records_ = 0;
    state_ = State::head;
    reported_ = false;
  }

  Found take(std::span<const unsigned char> bytes) noexcept override {
    Found found;
    while (found.kind == Found::Kind::more && found.used < bytes.size()) {
      const std::uint64_t used = found.used, before = at_;
      found = step(bytes.subspan(used));
      found.used = used + (at_ - before);
    }
    return found;
  }

  Found end() noexcept override {
    if (std::exchange(reported_, true)) return {.kind = Found::Kind::over};
    if (state_ != State::head || filled_ > 0) return bad(Flaw::truncated);
    if (records_ == 0) return bad(Flaw::no_sample);
    return {.kind = Found::Kind::over};
  }

 private:
  enum class State : std::uint8_t { head, body, foot };

  Found step(std::span<const unsigned char> bytes) noexcept {
    if (state_ == State::body) {
      const auto part = bytes.first(std::min<std::uint64_t>(left_, bytes.size()));
      crc_ = crc32c(part, crc_);
      if (keep_ != nullptr) keep_->add(part);
      at_ += part.size();
      left_ -= part.size();
      if (left_ == 0) state_ = State::foot;
      return {};
    }
    const std::uint64_t whole = state_ == State::head ? kRecordHead : kRecordFoot;
    const std::uint64_t part = std::min<std::uint64_t>(whole - filled_, bytes.size());
    if (filled_ == 0 && state_ == State::head) begin_ = at_;
    std::memcpy(few_.data() + filled_, bytes.data(), part);
    filled_ += part;
    at_ += part;
    if (filled_ < whole) return {};
    filled_ = 0;
    return state_ == State::head ? open() : close();
  }
  Found open() noexcept {
    if (!record_head(std::span<const unsigned char, kRecordHead>(few_), length_))
      return bad(begin_ == 0 && looks_compressed(few_) ? Flaw::compressed : Flaw::length_crc);
    left_ = length_;
    crc_ = 0;
    if (keep_ != nullptr) keep_->begin_whole(at_);
    state_ = length_ == 0 ? State::foot : State::body;
    return {};
  }
  Found close() noexcept {
    std::uint32_t reported;
    std::memcpy(&reported, few_.data(), sizeof reported);
    state_ = State::head;
    ++records_;
    if (reported != masked(crc_)) return bad(Flaw::data_crc);
    if (keep_ != nullptr) {
      const Bytes record = keep_->bytes();
      Bytes found;
      for (const Fits fits : {&Payload::fits, &Payload::fits_others})
        if (found.empty()) found = (keep_->*fits)(record) ? record : find_value(record, *keep_, fits);
      keep_->choose(found);
    }
    return {.kind = Found::Kind::sample, .bytes = length_, .offset = begin_};
  }
  Found bad(Flaw flaw) const noexcept { return {.kind = Found::Kind::bad, .flaw = flaw, .offset = begin_}; }

  Payload* const keep_;
  State state_ = State::head;
  std::array<unsigned char, kRecordHead> few_{};
  std::uint64_t at_ = 0, begin_ = 0;  // in the shard: now, and of the record at hand
  std::uint64_t filled_ = 0;          // of few_
  std::uint64_t length_ = 0, left_ = 0, records_ = 0;
  std::uint32_t crc_ = 0;
  bool reported_ = false;
};

}  // namespace

bool record_head(std::span<const unsigned char, kRecordHead> head, std::uint64_t& length) noexcept {
  std::uint32_t reported;
  std::memcpy(&length, head.data(), sizeof length);
  std::memcpy(&reported, head.data() + sizeof length, sizeof reported);
  return reported == masked(crc32c(head.first(sizeof length)));
}

bool is_whole_record(std::span<const unsigned char> record) noexcept {
  if (record.size() < kRecordFoot) return false;
  std::uint32_t reported;
  std::memcpy(&reported, record.last<kRecordFoot>().data(), sizeof reported);
  return reported == masked(crc32c(record.first(record.size() - kRecordFoot)));
}

std::optional<std::vector<Feature>> example_features(std::span<const unsigned char> record) {
  std::vector<Feature> found;
  std::uint64_t tag;
  for (Bytes features, entry; !record.empty();) {
    if (!get_field(record, tag, features) || tag != kFirst) return std::nullopt;
    while (!features.empty())
      if (!get_field(features, tag, entry) || tag != kFirst || !get_feature(entry, found.emplace_back()))
        return std::nullopt;
  }
  std::sort(found.begin(), found.end(), [](const Feature& a, const Feature& b) { return a.name < b.name; });
  return found;
}

void put_record(std::string_view bytes, std::string& out) {
  const std::uint64_t length = bytes.size();
  const std::size_t head = out.size();
  put(length, out);
  put(masked(crc32c(bytes_of(std::string_view(out).substr(head)))), out);
  out += bytes;
  put(masked(crc32c(bytes_of(bytes))), out);
}

// message Example { Features features = 1; } message Features { map<string, Feature> feature = 1; }
// message Feature { oneof { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }

void Example::add(std::string_view feature, std::string_view kind) {
  std::string entry;
  put_field(1, feature, entry);
  put_field(2, kind, entry);
  put_field(1, entry, entries_);
}

void Example::add_bytes(std::string_view feature, std::string_view value) {
  std::string list, kind;
  put_field(1, value, list);
  put_field(1, list, kind);
  add(feature, kind);
}

void Example::add_number(std::string_view feature, std::int64_t value) {
  std::string packed, list, kind;
  put_varint(static_cast<std::uint64_t>(value), packed);
  put_field(1, packed, list);
  put_field(3, list, kind);
  add(feature, kind);
}

std::string Example::serialized() const {
  std::string message;
  put_field(1, entries_, message);
  return message;
}

std::unique_ptr<SampleParser> tfrecord_parser(Payload* keep) { return std::make_unique<RecordParser>(keep); }

}  // namespace headrace::formats
