#include "harness/workload/data/data_set/sample_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "harness/backends/formats/crc32c.h"
#include "harness/backends/formats/tar.h"
#include "harness/workload/data/data_set/block_pattern.h"

namespace headrace {
namespace {

/// As stored in a sample's comment.
struct StoredSample {
  std::uint64_t magic = 0, data_set = 0, file = 0, sample = 0, size = 0, crc = 0, check = 0;
};
constexpr std::uint64_t kSampleMagic = 0x3130504d53524448;  // "HDRSMP01"
constexpr std::size_t kLabel = sizeof(StoredSample);

std::uint64_t sample_check_of(const StoredSample& s) {
  return mix(s.data_set ^ mix(s.file ^ mix(s.sample ^ mix(s.size ^ mix(s.crc ^ kSampleMagic)))));
}

using Bytes = std::vector<unsigned char>;

void put(Bytes& out, std::string_view text) { out.insert(out.end(), text.begin(), text.end()); }
void put_big(Bytes& out, std::uint64_t value, unsigned bytes) {
  while (bytes-- > 0) out.push_back(static_cast<unsigned char>(value >> 8 * bytes));
}
void put_little(Bytes& out, std::uint64_t value) {
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<unsigned char>(value >> 8 * i));
}

/// The CRC at the end of PNG chunks (ISO 3309).
std::uint32_t crc32(std::span<const unsigned char> bytes) {
  std::uint32_t crc = ~0u;
  for (const unsigned char byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}
void put_chunk(Bytes& out, const char* name, std::size_t length) {
  put_big(out, length, 4);
  const std::size_t begin = out.size();
  put(out, name);
  out.resize(out.size() + length);
  put_big(out, crc32(std::span(out).subspan(begin)), 4);
}

/// How a format carries comments: where the label is, and its least part of a sample, with an empty pad.
struct Comments {
  std::size_t label_at, least;
};
constexpr std::size_t kPngHead = 33;  // the signature and the first chunk
/// Sizes for an array: its member's header with the name, "x.npy". Then the directory and its end, which has the
/// directory's begin.
constexpr std::size_t kZipHead = 30 + 5, kZipTail = 46 + 5 + 22;
Comments comments_of(std::string_view codec) {
  if (codec == "jpeg") return {6, 4 + kLabel + 4};
  if (codec == "png") return {kPngHead + 8, 12 + kLabel + 12};
  if (codec == "npz") return {kZipHead + 4, 4 + kLabel};
  return {8, 8 + kLabel + 8};
}

/// `encoded` with an empty label, made `size` bytes long by a pad.
Bytes with_comments(std::string_view codec, std::span<const unsigned char> encoded, std::uint64_t size) {
  const Comments comments = comments_of(codec);
  std::uint64_t pad = size - encoded.size() - comments.least;  // in addition to its head
  Bytes out;
  out.reserve(size);
  const auto rest = [&](std::size_t from) {
    out.insert(out.end(), encoded.begin() + static_cast<std::ptrdiff_t>(from), encoded.end());
  };
  const auto head = [&](std::size_t length) {
    out.assign(encoded.begin(), encoded.begin() + static_cast<std::ptrdiff_t>(length));
  };
  if (codec == "jpeg") {
    head(2);
    const auto comment = [&out](std::uint64_t length) {
      put(out, "\xff\xfe");
      put_big(out, length + 2, 2);
      out.resize(out.size() + length);
    };
    comment(kLabel);
    // A comment has 65533 bytes at most; the head of each further one is a part of the pad.
    for (constexpr std::uint64_t kMost = 65533; pad > kMost; pad -= 4) {
      const std::uint64_t part = std::min(kMost, pad - 4);
      comment(part);
      pad -= part;
    }
    comment(pad);
    rest(2);
  } else if (codec == "png") {
    head(kPngHead);
    put_chunk(out, "hrLb", kLabel);
    put_chunk(out, "hrPd", pad);
    rest(kPngHead);
  } else if (codec == "npz") {
    head(kZipHead);
    out[28] = 4 + kLabel;  // the label is in an unused field of the header
    put(out, "Hr");
    out.push_back(kLabel);
    out.resize(out.size() + 1 + kLabel);
    const std::size_t tail = encoded.size() - kZipTail;
    out.insert(out.end(), encoded.begin() + kZipHead, encoded.begin() + static_cast<std::ptrdiff_t>(tail));
    out.resize(out.size() + pad);  // between the array and the directory, where nothing has to be
    const std::uint64_t directory = out.size();
    rest(tail);
    for (unsigned i = 0; i < 4; ++i) out[size - 6 + i] = static_cast<unsigned char>(directory >> 8 * i);
  } else {
    for (const std::uint64_t length : {std::uint64_t{kLabel}, pad}) {
      put_little(out, 0x184D2A50);  // a frame that is skipped
      put_little(out, length);
      out.resize(out.size() + length);
    }
    rest(0);
  }
  return out;
}

/// The CRC of everything before the label, and the part of a PNG's chunk that depends on it.
std::uint32_t crc_of(std::span<const unsigned char> sample, std::size_t label_at) {
  const std::size_t behind = label_at + kLabel + 4;
  return formats::crc32c(sample.subspan(behind), formats::crc32c(sample.first(label_at)));
}

StoredSample sample_label_of(std::span<const unsigned char> bytes, std::string_view codec) {
  StoredSample found;
  const std::size_t at = comments_of(codec).label_at;
  if (bytes.size() >= at + kLabel) std::memcpy(&found, bytes.data() + at, kLabel);
  if (found.magic != kSampleMagic || found.check != sample_check_of(found)) return {};
  return found;
}

constexpr std::uint64_t kTarHead = 2 * formats::kTarBlock;  // the comment
constexpr std::uint64_t kBeside = 3 * formats::kTarBlock;   // of a sample: its header, and its label with a header
constexpr std::uint64_t kLeastSlot = kBlock + kBeside;

const char* part_of(std::string_view codec) {
  return codec == "jpeg" ? "jpg" : codec == "png" ? "png" : codec == "npz" ? "npz" : "zst";
}

}  // namespace

SampleFile::SampleFile(const DataSetLayout& layout, std::uint64_t file)
    : layout_(layout), file_(file), size_(layout.size(file)) {
  if (!in_tar()) return;
  const std::uint64_t room = size_ - std::min(size_, kTarHead + formats::kTarEnd);
  const std::uint64_t wanted = (size_ + layout.spec().content_sample / 2) / layout.spec().content_sample;
  count_ = std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(1, room / kLeastSlot));
  slot_ = room / count_ / formats::kTarBlock * formats::kTarBlock;
}

bool SampleFile::in_tar() const { return layout_.spec().content_sample > 0; }

/// One of two samples is smaller, the other larger, by this size [B].
std::uint64_t SampleFile::spread(std::uint64_t pair) const {
  if (2 * pair + 1 >= count_) return 0;
  const std::uint64_t most = (slot_ - kLeastSlot) / 4 / formats::kTarBlock;
  return mix(layout_.key() ^ mix(file_ ^ mix(pair))) % (most + 1) * formats::kTarBlock;
}

SamplePlace SampleFile::place(std::uint64_t sample) const {
  if (!in_tar()) return {0, size_};
  const std::uint64_t begin = kTarHead + sample * slot_ + formats::kTarBlock, size = slot_ - kBeside;
  const std::uint64_t other = spread(sample / 2);
  return sample % 2 == 0 ? SamplePlace{begin, size - other} : SamplePlace{begin - other, size + other};
}

std::string SampleFile::before(std::uint64_t sample) const {
  std::string out;
  if (!in_tar()) return out;
  const auto name = [&](std::uint64_t number, const char* part) {
    return fmt::format("{:06}{:06}.{}", file_, number, part);
  };
  if (sample == 0) {
    formats::put_tar_comment(fmt::format("headrace {:016x} {}", layout_.key(), file_), out);
  } else {
    const std::string label = std::to_string(mix(file_ ^ mix(sample - 1)) % 1000);
    formats::put_tar_header(name(sample - 1, "cls"), label.size(), out);
    out += label;
    out.append(formats::tar_padding(label.size()), '\0');
  }
  if (sample < count_) {
    formats::put_tar_header(name(sample, part_of(layout_.spec().content)), place(sample).size, out);
  } else {
    const SamplePlace last = place(count_ - 1);
    out.resize(size_ - last.offset - last.size, '\0');
  }
  return out;
}

bool SampleFile::is_begin(std::span<const unsigned char> first) const {
  if (in_tar()) {
    const std::string right = before(0).substr(0, kTarHead);
    return first.size() >= right.size() && std::memcmp(first.data(), right.data(), right.size()) == 0;
  }
  const StoredSample found = sample_label_of(first, layout_.spec().content);
  return found.magic != 0 && found.data_set == layout_.key() && found.file == file_;
}

std::string SampleFile::wrong(std::uint64_t sample, std::span<const unsigned char> bytes) const {
  if (std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == 0; })) return "all zero";
  const StoredSample found = sample_label_of(bytes, layout_.spec().content);
  if (found.magic == 0) return "holds something that headrace did not write";
  if (found.data_set != layout_.key()) return "stale: holds a sample of another data set";
  if (found.file != file_ || found.sample != sample)
    return fmt::format("holds sample {} of file {}", found.sample, found.file);
  if (found.size != bytes.size() || found.crc != crc_of(bytes, comments_of(layout_.spec().content).label_at))
    return "torn: the sample's CRC is another";
  return "";
}

std::vector<unsigned char> SampleFile::make(std::uint64_t sample, const decode::SampleMaker& maker) const {
  const std::string& codec = layout_.spec().content;
  const std::uint64_t size = place(sample).size;
  const Comments comments = comments_of(codec);
  Bytes out =
      with_comments(codec, maker.make(mix(layout_.key() ^ mix(file_ ^ mix(sample))), size - comments.least), size);
  StoredSample label{kSampleMagic, layout_.key(), file_, sample, size, crc_of(out, comments.label_at), 0};
  label.check = sample_check_of(label);
  std::memcpy(out.data() + comments.label_at, &label, kLabel);
  if (codec == "png") {
    const std::uint32_t crc = crc32(std::span(out).subspan(comments.label_at - 4, 4 + kLabel));
    for (unsigned i = 0; i < 4; ++i)
      out[comments.label_at + kLabel + i] = static_cast<unsigned char>(crc >> 8 * (3 - i));
  }
  return out;
}

void SampleStream::fill(unsigned char* out, std::uint64_t length) {
  while (length > 0) {
    if (used_ == ready_.size()) {
      ready_.clear();
      used_ = 0;
      put(ready_, file_.before(next_));
      if (next_ < file_.count()) {
        const Bytes sample = file_.make(next_, maker_);
        ready_.insert(ready_.end(), sample.begin(), sample.end());
      }
      ++next_;
    }
    const std::uint64_t part = std::min<std::uint64_t>(length, ready_.size() - used_);
    std::memcpy(out, ready_.data() + used_, part);
    used_ += part;
    out += part;
    length -= part;
  }
}

}  // namespace headrace
