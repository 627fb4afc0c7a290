#include "harness/packing/encoder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "harness/base/error.h"
#include "harness/formats/tar.h"
#include "harness/formats/tfrecord.h"
#include "harness/system/open_quiet.h"

namespace headrace::packing {
namespace {

using formats::Format;

/// Appends the bytes of a file, if it is still the one that was listed.
void append_file(const ImageFolder& from, std::uint32_t file, std::string& out) {
  const FileTable& files = from.files;
  const system::UniqueFd fd = system::open_quiet(files.root_fd(), files.path(file), O_NOFOLLOW);
  if (!fd) throw system_error("open", files.full_path(file), errno);
  const auto as_listed = [&] {
    struct stat status;
    return ::fstat(fd.get(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) == files.size(file) &&
           status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec == from.stamps[file];
  };
  const auto changed = [&] { return RunError(files.full_path(file) + ": was changed while it was packed"); };
  if (!as_listed()) throw changed();
  const std::size_t begin = out.size();
  out.resize(begin + files.size(file));
  for (std::size_t at = begin; at < out.size();) {
    const ssize_t got = ::read(fd.get(), out.data() + at, out.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("read", files.full_path(file), at - begin, errno);
    if (got == 0) throw changed();
    at += static_cast<std::size_t>(got);
  }
  if (!as_listed()) throw changed();
}

void encode_tar(const ImageFolder& from, const Sample& sample, std::string& out) {
  const std::string key = from.key(sample);
  bool labelled = sample.label < 0;
  for (std::uint32_t i = 0; i < sample.count; ++i) {
    const std::uint32_t file = from.order[sample.first + i];
    const std::string part = cut_extension(from.files.path(file)).second;
    labelled = labelled || part == "cls";
    formats::put_tar_header(key + "." + part, from.files.size(file), out);
    append_file(from, file, out);
    out.append(formats::tar_padding(from.files.size(file)), '\0');
  }
  if (labelled) return;
  const std::string label = std::to_string(sample.label);
  formats::put_tar_header(key + ".cls", label.size(), out);
  out += label;
  out.append(formats::tar_padding(label.size()), '\0');
}

void encode_record(const ImageFolder& from, const Sample& sample, std::string& out) {
  formats::Example example;
  std::string bytes;
  for (std::uint32_t i = 0; i < sample.count; ++i) {
    const std::uint32_t file = from.order[sample.first + i];
    const std::string_view path = from.files.path(file);
    const std::string part = cut_extension(path).second;
    bytes.clear();
    append_file(from, file, bytes);
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
    example.add_bytes("image/class/text", from.classes[static_cast<std::size_t>(sample.label)]);
  }
  formats::put_record(example.serialized(), out);
}

}  // namespace

void encode(const ImageFolder& from, const Sample& sample, Format format, std::string& out) {
  out.clear();
  format == Format::tar ? encode_tar(from, sample, out) : encode_record(from, sample, out);
}

std::uint64_t encoded_bytes(const ImageFolder& from, const Sample& sample, Format format) {
  std::uint64_t bytes = 0;
  std::string header;
  for (std::uint32_t i = 0; i < sample.count; ++i) {
    const std::uint32_t file = from.order[sample.first + i];
    const std::uint64_t size = from.files.size(file);
    if (format == Format::tfrecord) {
      bytes += size + 128;  // the features' names
      continue;
    }
    header.clear();
    formats::put_tar_header(from.key(sample) + "." + cut_extension(from.files.path(file)).second, size, header);
    bytes += header.size() + size + formats::tar_padding(size);
  }
  if (format == Format::tfrecord) {
    const std::string_view path = from.files.path(from.order[sample.first]);
    return bytes + 256 + path.size() +
           (sample.label < 0 ? 0 : from.classes[static_cast<std::size_t>(sample.label)].size());
  }
  if (sample.label >= 0) bytes += 2 * formats::kTarBlock + (header.size() - formats::kTarBlock);
  return bytes;
}

}  // namespace headrace::packing
