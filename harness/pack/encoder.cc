#include "harness/pack/encoder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "harness/backends/formats/little_endian.h"
#include "harness/backends/formats/tar.h"
#include "harness/backends/formats/tfrecord.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/system/open_quiet.h"

namespace headrace::pack {
namespace {

using formats::Format;

/// Appends the bytes of a part, if its file or shard is still the one that was listed.
void append_file(const Source& source, std::uint32_t part, std::string& out) {
  const ImageFolder& from = source.from;
  const FileTable& files = from.in_shards() ? from.shards : from.files;
  const Place place = from.in_shards() ? from.places[part] : Place{.shard = part};
  const std::uint32_t file = place.shard;
  const std::uint64_t bytes = from.files.size(part);
  if (file == Place::kText) return void(out.append(from.texts, place.offset, bytes));
  if (source.objects != nullptr) {
    const std::size_t end = out.size();
    out.resize(end + files.size(file));
    return source.objects->read(files.full_path(file), files.version(file), std::span(out).subspan(end));
  }
  const auto changed = [&] { return RunError(files.full_path(file) + ": was changed while it was packed"); };
  const system::UniqueFd fd = system::open_quiet(files.root_fd(), files.path(file));
  if (!fd && (errno == ELOOP || errno == ENOTDIR)) throw changed();  // a link is on the way now
  if (!fd) throw system_error("open", files.full_path(file), errno);
  const auto as_listed = [&] {
    struct stat status;
    return ::fstat(fd.get(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) == files.size(file) &&
           status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec == from.stamps[file];
  };
  if (!as_listed()) throw changed();
  const std::size_t begin = out.size();
  out.resize(begin + bytes);
  for (std::size_t at = begin; at < out.size();) {
    const std::uint64_t offset = place.offset + (at - begin);
    const ssize_t got = ::pread(fd.get(), out.data() + at, out.size() - at, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("read", files.full_path(file), offset, errno);
    if (got == 0) throw changed();
    at += static_cast<std::size_t>(got);
  }
  if (!as_listed()) throw changed();
}

void encode_tar(const Source& source, const Sample& sample, std::string& out) {
  const ImageFolder& from = source.from;
  const std::string key = from.key(sample);
  bool labelled = sample.label < 0;
  for (std::uint32_t i = 0; i < sample.count; ++i) {
    const std::uint32_t file = from.order[sample.first + i];
    const std::string part = from.part(file);
    labelled = labelled || part == "cls";
    formats::put_tar_header(key + "." + part, from.files.size(file), out);
    append_file(source, file, out);
    out.append(formats::tar_padding(from.files.size(file)), '\0');
  }
  if (labelled) return;
  const std::string label = std::to_string(sample.label);
  formats::put_tar_header(key + ".cls", label.size(), out);
  out += label;
  out.append(formats::tar_padding(label.size()), '\0');
}

void encode_record(const Source& source, const Sample& sample, std::string& out) {
  const ImageFolder& from = source.from;
  formats::Example example;
  std::string bytes;
  for (std::uint32_t i = 0; i < sample.count; ++i) {
    const std::uint32_t file = from.order[sample.first + i];
    const std::string_view path = from.files.name(file);
    const std::string part = from.part(file);
    bytes.clear();
    append_file(source, file, bytes);
    if (!formats::is_image(part)) {
      example.add_bytes(part, bytes);
      continue;
    }
    example.add_bytes("image/encoded", bytes);
    example.add_bytes("image/format", part);
    example.add_bytes("image/filename", path.substr(path.rfind('/') + 1));
  }
  if (sample.label >= 0) {
    example.add_number("image/class/label", sample.label);
    if (!from.classes.empty())
      example.add_bytes("image/class/text", from.classes[static_cast<std::size_t>(sample.label)]);
  }
  formats::put_record(example.serialized(), out);
}

constexpr const char* kImageColumn = "x";
constexpr const char* kClassColumn = "y";
constexpr std::uint64_t kClassBytes = 8;  // streaming's "int"

/// The column of an MDS sample for a file's part.
std::string column_of(std::string_view part) {
  if (formats::is_image(part)) return kImageColumn;
  return part == kImageColumn || part == kClassColumn ? "." + std::string(part) : std::string(part);
}
std::string part_of(const ImageFolder& from, const Sample& sample, std::uint32_t number) {
  return from.part(from.order[sample.first + number]);
}

void encode_mds(const Source& source, const Sample& sample, const Encoding& as, std::string& out) {
  const ImageFolder& from = source.from;
  std::vector<std::uint32_t> files;  // of the columns that are files, in their order
  for (std::size_t column = 0; column < as.columns.size(); ++column)
    for (std::uint32_t i = 0; i < sample.count && !as.columns[column].size; ++i)
      if (column_of(part_of(from, sample, i)) == as.columns[column].name) files.push_back(from.order[sample.first + i]);
  for (const std::uint32_t file : files)
    formats::put_little_endian_32(static_cast<std::uint32_t>(from.files.size(file)), out);
  auto file = files.begin();
  for (const formats::MdsColumn& column : as.columns) {
    if (!column.size) {
      append_file(source, *file++, out);
      continue;
    }
    const auto label = static_cast<std::uint32_t>(sample.label);
    formats::put_little_endian_32(label, out);
    formats::put_little_endian_32(0, out);
  }
}

std::string name_of(const ImageFolder& from, const Sample& sample) {
  return from.files.full_path(from.order[sample.first]);
}

/// Has each sample a .cls file? Some alone would mix the user's numbers with those of the folders.
bool has_own_classes(const ImageFolder& from) {
  const auto has_own = [&](const Sample& sample) {
    for (std::uint32_t i = 0; i < sample.count; ++i)
      if (part_of(from, sample, i) == "cls") return true;
    return false;
  };
  const auto without = std::ranges::find_if_not(from.samples, has_own);
  if (from.classes.empty() || without == from.samples.end()) return !from.classes.empty();
  if (std::ranges::none_of(from.samples, has_own)) return false;
  throw UsageError(
      fmt::format("pack: {} has no .cls of the same name, which others have: their numbers would be mixed with those "
                  "of the folders; give every image one, or move them away",
                  name_of(from, *without)));
}

bool has_class(const Sample& sample) { return sample.label >= 0; }

}  // namespace

Encoding encoding_of(const ImageFolder& from, Format format) {
  Encoding as{.format = format, .columns = {}, .own_classes = format == Format::tar && has_own_classes(from)};
  if (format != Format::mds) return as;
  if (from.whole) return as.columns = from.columns, as;
  std::map<std::string, std::set<std::string>> columns;  // and the endings of their files
  for (const Sample& sample : from.samples)
    for (std::uint32_t i = 0; i < sample.count; ++i) {
      const std::string part = part_of(from, sample, i);
      columns[column_of(part)].insert(part);
    }
  for (const Sample& sample : from.samples) {
    if (sample.count == columns.size()) continue;
    for (std::uint32_t i = 0; i < sample.count; ++i) columns.erase(column_of(part_of(from, sample, i)));
    const auto& parts = columns.begin()->second;
    throw UsageError(
        fmt::format("pack: {} has no .{} of the same name, which others have: all samples of MDS have the same columns",
                    name_of(from, sample), *parts.begin()));
  }
  const bool classes = std::ranges::any_of(from.samples, has_class);
  if (const auto none = std::ranges::find_if_not(from.samples, has_class); classes && none != from.samples.end())
    throw UsageError(fmt::format("pack: {} has no class, which others have: all samples of MDS have the same columns",
                                 name_of(from, *none)));
  for (const auto& [name, parts] : columns) {
    // Named anew: clang 14 lets no lambda capture a structured binding.
    const auto all = [&of_column = parts](std::string_view one, std::string_view other) {
      return std::all_of(of_column.begin(), of_column.end(),
                         [&](const std::string& part) { return part == one || part == other; });
    };
    const char* encoding = name != kImageColumn ? "bytes"
                           : all("jpg", "jpeg") ? "jpeg"
                           : all("png", "png")  ? "png"
                                                : "bytes";
    as.columns.push_back({.name = name, .encoding = encoding});
  }
  if (classes) as.columns.push_back({.name = kClassColumn, .encoding = "int", .size = kClassBytes});
  std::sort(as.columns.begin(), as.columns.end(),
            [](const formats::MdsColumn& a, const formats::MdsColumn& b) { return a.name < b.name; });
  return as;
}

void encode(const Source& from, const Sample& sample, const Encoding& as, std::string& out) {
  out.clear();
  if (from.from.whole && as.format != Format::tar) return append_file(from, from.from.order[sample.first], out);
  if (as.format == Format::mds) return encode_mds(from, sample, as, out);
  as.format == Format::tar ? encode_tar(from, sample, out) : encode_record(from, sample, out);
}

std::uint64_t encoded_bytes(const ImageFolder& from, const Sample& sample, const Encoding& as) {
  const Format format = as.format;
  std::uint64_t bytes = 0;
  if (from.whole && format != Format::tar) return from.bytes(sample);
  if (format == Format::mds) return from.bytes(sample) + 4 * sample.count + (has_class(sample) ? kClassBytes : 0);
  std::string header;
  for (std::uint32_t i = 0; i < sample.count; ++i) {
    const std::uint32_t file = from.order[sample.first + i];
    const std::uint64_t size = from.files.size(file);
    if (format == Format::tfrecord) {
      bytes += size + 128;  // the features' names
      continue;
    }
    header.clear();
    formats::put_tar_header(from.key(sample) + "." + from.part(file), size, header);
    bytes += header.size() + size + formats::tar_padding(size);
  }
  if (format == Format::tfrecord) {
    const std::string_view path = from.files.name(from.order[sample.first]);
    return bytes + 256 + path.size() +
           (from.classes.empty() ? 0 : from.classes[static_cast<std::size_t>(sample.label)].size());
  }
  if (sample.label >= 0) bytes += 2 * formats::kTarBlock + (header.size() - formats::kTarBlock);
  return bytes;
}

}  // namespace headrace::pack
