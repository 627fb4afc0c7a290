#include "harness/backends/formats/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

namespace headrace::formats {
namespace {

// Positions of a header's fields (POSIX.1-2017, pax, "ustar Interchange Format").
constexpr std::size_t kName = 0, kNameLength = 100, kMode = 100, kUser = 108, kGroup = 116, kSize = 124,
                      kSizeLength = 12, kTime = 136, kChecksum = 148, kChecksumLength = 8, kType = 156, kMagic = 257,
                      kPrefix = 345, kPrefixLength = 155;
constexpr std::uint64_t kMostOctal = 077777777777;

/// Octal digits with blanks around, or GNU's binary numbers.
std::optional<std::uint64_t> number_in(const unsigned char* at, std::size_t length) noexcept {
  std::uint64_t value = 0;
  if (at[0] & 0x80) {
    if (at[0] != 0x80) return std::nullopt;  // negative, or larger than 2^64
    for (std::size_t i = 1; i < length; ++i) {
      if (value >> 56) return std::nullopt;
      value = value << 8 | at[i];
    }
    return value;
  }
  std::size_t i = 0;
  while (i < length && at[i] == ' ') ++i;
  for (; i < length && at[i] >= '0' && at[i] <= '7'; ++i) value = value << 3 | static_cast<unsigned>(at[i] - '0');
  if (i < length && at[i] != ' ' && at[i] != 0) return std::nullopt;
  return value;
}

/// The checksum field itself counts as blanks.
std::uint64_t checksum_of(const unsigned char* block) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) sum += i >= kChecksum && i < kChecksum + kChecksumLength ? ' ' : block[i];
  return sum;
}

std::string_view field(TarBlock block, std::size_t at, std::size_t length) noexcept {
  const auto* text = reinterpret_cast<const char*>(block.data() + at);
  return {text, ::strnlen(text, length)};
}

void put_octal(char* block, std::size_t at, std::size_t length, std::uint64_t value) {
  const std::string digits = fmt::format("{:0{}o}", value, length - 1);
  std::memcpy(block + at, digits.data(), length - 1);
}

/// A header of `name`, which fits.
void put_block(std::string_view prefix, std::string_view name, std::uint64_t size, char type, std::string& out) {
  std::array<char, kTarBlock> block{};
  std::memcpy(block.data() + kName, name.data(), name.size());
  std::memcpy(block.data() + kPrefix, prefix.data(), prefix.size());
  put_octal(block.data(), kMode, 8, 0644);
  put_octal(block.data(), kUser, 8, 0);
  put_octal(block.data(), kGroup, 8, 0);
  put_octal(block.data(), kSize, kSizeLength, size);
  put_octal(block.data(), kTime, 12, 0);
  block[kType] = type;
  std::memcpy(block.data() + kMagic, "ustar\00000", 8);
  put_octal(block.data(), kChecksum, 7, checksum_of(reinterpret_cast<const unsigned char*>(block.data())));
  block[kChecksum + 7] = ' ';
  out.append(block.data(), block.size());
}

/// "30 path=a/b\n": the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return fmt::format("{} {}={}\n", length, key, value);
}

/// Where a name can be cut in two for a ustar header; npos when it cannot.
std::size_t cut_of(std::string_view name) {
  for (std::size_t cut = name.find('/'); cut != std::string_view::npos; cut = name.find('/', cut + 1))
    if (cut > 0 && cut <= kPrefixLength && name.size() - cut - 1 <= kNameLength && cut + 1 < name.size()) return cut;
  return std::string_view::npos;
}

/// Has the last folder of "a/b/" a dot in its name?
bool has_dot_in_folder(std::string_view folders) noexcept {
  const std::string_view path = folders.substr(0, folders.size() - 1);
  return path.substr(path.rfind('/') + 1).find('.') != std::string_view::npos;
}

}  // namespace

std::optional<TarHeader> tar_header(TarBlock block) noexcept {
  const auto reported = number_in(block.data() + kChecksum, kChecksumLength);
  const auto size = number_in(block.data() + kSize, kSizeLength);
  if (!reported || !size || *reported != checksum_of(block.data())) return std::nullopt;
  const char type = static_cast<char>(block[kType]);
  return TarHeader{.type = type == 0 || type == '7' ? '0' : type,
                   .size = *size,
                   .has_prefix = std::memcmp(block.data() + kMagic, "ustar\0", 6) == 0};
}

bool is_zero(TarBlock block) noexcept {
  return std::all_of(block.begin(), block.end(), [](unsigned char c) { return c == 0; });
}

std::size_t tar_name(TarBlock block, bool has_prefix, std::span<char> out) noexcept {
  const std::string_view prefix = has_prefix ? field(block, kPrefix, kPrefixLength) : std::string_view{};
  const std::string_view name = field(block, kName, kNameLength);
  const std::size_t front = prefix.empty() ? 0 : prefix.size() + 1;
  if (front + name.size() > out.size()) return 0;
  std::copy(prefix.begin(), prefix.end(), out.begin());
  if (front > 0) out[front - 1] = '/';
  std::copy(name.begin(), name.end(), out.begin() + static_cast<std::ptrdiff_t>(front));
  return front + name.size();
}

std::optional<std::string_view> pax_value(std::string_view records, std::string_view key) noexcept {
  std::optional<std::string_view> found;  // the last one holds
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (error != std::errc{} || length <= digits + 1 || length > records.size()) return found;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);  // without blank and line break
    if (record.size() > key.size() && record.starts_with(key) && record[key.size()] == '=')
      found = record.substr(key.size() + 1);
    records.remove_prefix(length);
  }
  return found;
}

std::optional<std::string_view> pax_path(std::string_view records) noexcept {
  const auto sparse = pax_value(records, "GNU.sparse.name");
  return sparse ? sparse : pax_value(records, "path");
}

bool is_sparse(std::string_view records) noexcept { return records.find("GNU.sparse.") != records.npos; }

SampleName sample_name(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.find('.', base);
  if (dot == std::string_view::npos) return {};
  // WebDataset's pattern then needs a folder's name without a dot before it: "./.a" is no sample either.
  if (dot == base && (base == 0 || has_dot_in_folder(path.substr(0, base)))) return {};
  if (path.substr(base).starts_with("__") && path.ends_with("__")) return {};  // about the shard, not of a sample
  return {path.substr(0, dot), path.substr(dot + 1)};
}

bool is_apple_double(const SampleName& name) noexcept { return name.key.ends_with('/') && name.part.starts_with('_'); }

bool is_image(std::string_view part) noexcept {
  constexpr std::string_view kImages[] = {"jpg",  "jpeg", "png", "webp", "bmp", "gif", "tif",
                                          "tiff", "ppm",  "pgm", "pbm",  "pnm", "jp2"};
  const auto alike = [part](std::string_view image) {
    return image.size() == part.size() && std::equal(image.begin(), image.end(), part.begin(),
                                                     [](char a, char b) { return a == (b | 0x20) || a == b; });
  };
  return std::any_of(std::begin(kImages), std::end(kImages), alike);
}

Flaw each_file(const BytesAt& from, std::uint64_t size, const std::function<bool(const TarFile&)>& each) {
  constexpr std::size_t kLongest = 1 << 16;
  std::string long_name, records;
  std::uint64_t at = 0;
  while (at + kTarBlock <= size) {
    unsigned char block[kTarBlock];
    if (from(at, block, kTarBlock) != static_cast<std::int64_t>(kTarBlock)) return Flaw::truncated;
    if (is_zero(TarBlock(block))) return Flaw::none;
    const auto header = tar_header(TarBlock(block));
    if (!header) return Flaw::bad_header;
    at += kTarBlock;
    std::uint64_t bytes = header->size;
    if (header->type == 'x' || header->type == 'L') {
      std::string& to = header->type == 'x' ? records : long_name;
      if (bytes > kLongest) return Flaw::unsupported;
      to.resize(bytes);
      if (from(at, reinterpret_cast<unsigned char*>(to.data()), bytes) != static_cast<std::int64_t>(bytes))
        return Flaw::truncated;
      if (header->type == 'L') to = to.c_str();
    } else if (header->type == '0' || header->type == 'S') {
      for (unsigned char more = header->type == 'S' ? block[kSparseGoesOn] : 0; more != 0; at += kTarBlock) {
        unsigned char map[kTarBlock];
        if (from(at, map, kTarBlock) != static_cast<std::int64_t>(kTarBlock)) return Flaw::truncated;
        more = map[kMapGoesOn];
      }
      char room[kLongest];
      std::string name = long_name;
      if (name.empty()) name.assign(room, tar_name(TarBlock(block), header->has_prefix, room));
      if (const auto path = pax_path(records)) name = *path;
      if (const auto reported = pax_value(records, "size"))
        std::from_chars(reported->data(), reported->data() + reported->size(), bytes);
      const bool sparse = header->type == 'S' || is_sparse(records);
      long_name.clear();
      records.clear();
      if (!each({.name = name, .offset = at, .bytes = bytes, .sparse = sparse})) return Flaw::none;
    } else {
      long_name.clear();
      records.clear();
      if (header->type >= '1' && header->type <= '6') bytes = 0;
    }
    if (bytes > size || at + bytes > size) return Flaw::truncated;
    at += bytes + tar_padding(bytes);
  }
  return at < size ? Flaw::truncated : Flaw::none;
}

std::vector<std::string> parts_of_first_samples(const BytesAt& from, std::uint64_t size) {
  constexpr unsigned kMost = 64;
  std::map<std::string, unsigned> seen;
  unsigned samples = 0;
  std::string key;
  each_file(from, size, [&](const TarFile& file) {
    const SampleName sample = sample_name(file.name);
    if (sample.key.empty() || is_apple_double(sample)) return true;
    if (sample.key != key) {
      if (samples == kMost) return false;
      ++samples;
      key = sample.key;
    }
    std::string part(is_image(sample.part) ? "image" : sample.part);
    for (char& c : part) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    ++seen[part];
    return true;
  });
  std::vector<std::string> parts;
  for (const auto& [part, count] : seen)
    if (2 * count > samples && parts.size() < 8) parts.push_back(part);
  return parts;
}

void put_tar_header(std::string_view name, std::uint64_t size, std::string& out) {
  const bool fits = name.size() <= kNameLength;
  const std::size_t cut = fits ? std::string_view::npos : cut_of(name);
  std::string records;
  if (!fits && cut == std::string_view::npos) records += pax_record("path", name);
  if (size > kMostOctal) records += pax_record("size", std::to_string(size));
  if (!records.empty()) {
    put_block("", "pax_header", records.size(), 'x', out);
    out += records;
    out.append(tar_padding(records.size()), '\0');
  }
  const std::uint64_t reported = std::min(size, kMostOctal);
  if (cut != std::string_view::npos) return put_block(name.substr(0, cut), name.substr(cut + 1), reported, '0', out);
  put_block("", name.substr(0, kNameLength), reported, '0', out);
}

void put_tar_comment(std::string_view comment, std::string& out) {
  const std::string record = pax_record("comment", comment);
  put_block("", "pax_global_header", record.size(), 'g', out);
  out += record;
  out.append(tar_padding(record.size()), '\0');
}

}  // namespace headrace::formats
