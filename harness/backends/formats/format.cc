#include "harness/backends/formats/format.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "harness/backends/formats/tar.h"
#include "harness/backends/formats/tfrecord.h"

namespace headrace::formats {
namespace {

std::string_view base_name(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

/// "a.tfrecord-00003-of-00010" -> "a.tfrecord", as Beam, TensorFlow Datasets and T5X number shards.
std::string_view without_number(std::string_view name) noexcept {
  const auto cut_digits = [&name](std::string_view before) {
    const std::size_t last = name.find_last_not_of("0123456789");
    if (last == name.npos || last + 1 == name.size() || !name.substr(0, last + 1).ends_with(before)) return false;
    name.remove_suffix(name.size() - (last + 1 - before.size()));
    return true;
  };
  const std::string_view whole = name;
  return cut_digits("-of-") && cut_digits("-") ? name : whole;
}

/// The extension, in small letters; "" where there is none or it is long.
class Extension {
 public:
  explicit Extension(std::string_view path) noexcept {
    const std::string_view base = base_name(path);
    const std::size_t dot = base.rfind('.');
    if (dot == base.npos || base.size() - dot - 1 > letters_.size()) return;
    for (const char c : base.substr(dot + 1))
      letters_[length_++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  template <std::size_t N>
  bool is_one_of(const std::string_view (&words)[N]) const noexcept {
    return length_ > 0 &&
           std::find(std::begin(words), std::end(words), std::string_view(letters_.data(), length_)) != std::end(words);
  }

 private:
  std::array<char, 12> letters_{};
  std::size_t length_ = 0;
};

}  // namespace

std::string_view to_string(Format format) {
  switch (format) {
    case Format::none:
      return "raw";
    case Format::tar:
      return "tar";
    case Format::tfrecord:
      return "tfrecord";
    case Format::mds:
      return "mds";
  }
  return "";
}

Format format_by_name(std::string_view name) noexcept {
  name = without_number(name);
  for (const char* end : {".tar", ".tar.gz", ".tgz", ".tar.zst"})
    if (name.ends_with(end)) return Format::tar;
  for (const char* end : {".tfrecord", ".tfrecords", ".tfrec", ".tfrecord.gz"})
    if (name.ends_with(end)) return Format::tfrecord;
  for (const char* end : {".mds", ".mds.zstd", ".mds.gz", ".mds.bz2", ".mds.br", ".mds.snappy"})
    if (name.ends_with(end)) return Format::mds;
  return Format::none;
}

Format format_by_content(const BytesAt& from) {
  std::array<unsigned char, kTarBlock> first{};
  const std::int64_t got = from(0, first.data(), first.size());
  std::uint64_t length = 0;
  if (got >= static_cast<std::int64_t>(kTarBlock) && !is_zero(first) && tar_header(first)) return Format::tar;
  if (got >= static_cast<std::int64_t>(kRecordHead) && record_head(std::span(first).first<kRecordHead>(), length) &&
      length > 0)
    return Format::tfrecord;
  return Format::none;
}

bool is_incomplete(std::string_view name) noexcept {
  constexpr std::string_view kMark = ".incomplete", kBegin = "incomplete.";
  constexpr std::size_t kRandom = 6, kHex = 32;
  if (name.starts_with(kBegin)) return name.find('.', kBegin.size()) == kBegin.size() + kHex;
  const std::size_t mark = name.rfind(kMark);
  if (mark == name.npos || mark == 0) return false;
  const std::string_view behind = name.substr(mark + kMark.size());
  return behind.empty() ||
         (behind.size() == kRandom && behind.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == behind.npos);
}

std::string_view by_product(std::string_view name) noexcept {
  constexpr std::string_view kNames[] = {".DS_Store",    "Thumbs.db",  "ehthumbs.db",      "desktop.ini",
                                         "Icon\r",       "__MACOSX",   "@eaDir",           "_SUCCESS",
                                         "_FAILURE",     "_metadata",  "_common_metadata", "_temporary",
                                         "$RECYCLE.BIN", "_delta_log", "_spark_metadata",  "System Volume Information"};
  constexpr std::string_view kBeginnings[] = {"._", ".nfs", ".fuse_hidden", "_committed_", "_started_"};
  const auto begins = [name](std::string_view one) { return name.starts_with(one); };
  if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
      std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins))
    return "of a desktop or a scheduler, no data";
  constexpr std::string_view kEnds[] = {".part", ".partial", ".crdownload", ".aria2", ".download", ".filepart", ".!qB"};
  if (is_incomplete(name)) return kUnfinished;
  if (std::any_of(std::begin(kEnds), std::end(kEnds),
                  [name](std::string_view end) { return name.size() > end.size() && name.ends_with(end); }))
    return kUnfinished;
  return name.starts_with('.') ? "hidden" : "";
}

std::string_view by_product_on_path(std::string_view path) noexcept {
  if (path.ends_with('/')) return "the marker of a folder";
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (const std::string_view why = by_product(path.substr(0, end)); !why.empty()) return why;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return "";
}

bool is_side_file(std::string_view name) noexcept {
  constexpr std::string_view kEndings[] = {"json",    "jsonl", "txt",   "csv",    "tsv",    "md",  "yaml",
                                           "yml",     "xml",   "idx",   "index",  "crc",    "log", "html",
                                           "parquet", "lock",  "md5",   "sha1",   "sha256", "py",  "pbtxt",
                                           "toml",    "ini",   "arrow", "sqlite", "db",     "pdf"};
  return Extension(name).is_one_of(kEndings);
}

bool has_image_extension(std::string_view name) noexcept {
  constexpr std::string_view kEndings[] = {"jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp"};
  return Extension(name).is_one_of(kEndings);
}

Foreign foreign_format(std::string_view name, const BytesAt& from) {
  constexpr std::string_view kConvert = "convert them (headrace pack), or read their bytes: dataset.codec: none";
  constexpr Foreign kParquet{"Parquet", "dataset.read_profile: row_group reads row groups with Apache Arrow"};
  constexpr Foreign kArrow{"Arrow IPC",
                           "datasets maps such files: dataset.layout: tokens, read_profile: mmap, "
                           "request_size: the bytes of a row"};
  constexpr Foreign kHdf5{"HDF5", "h5py reads chunks: dataset.layout: tokens, request_size: the bytes of a chunk"};
  constexpr Foreign kBeton{"FFCV",
                           "FFCV maps its file: dataset.layout: tokens, read_profile: mmap, request_size: the "
                           "bytes of a sample"};
  constexpr Foreign kArrayRecord{"ArrayRecord",
                                 "Grain reads records at random places: dataset.layout: tokens, "
                                 "request_size: the bytes of a record"};
  constexpr Foreign kLmdb{"LMDB",
                          "LMDB maps its file: dataset.layout: tokens, read_profile: mmap, request_size: the "
                          "bytes of a sample"};
  constexpr Foreign kRecordIo{"RecordIO", "MXNet reads from front to back: dataset.codec: none"};
  constexpr Foreign kZarr{"Zarr", "each chunk is a file: dataset.layout: files, sample_size: the bytes of a chunk"};
  constexpr Foreign kMegatron{"Megatron's index", "dataset.layout: tokens reads the .bin files"};
  constexpr Foreign kGitLfs{"Git LFS pointers", "git lfs pull fetches the data"};
  constexpr Foreign kNpz{"NumPy arrays", "dataset.layout: files, with dataset.codec: npz where they are .npz"};
  const std::string_view base = base_name(name);
  for (const std::string_view part : {".zarr/", ".zarr.zip"})
    if (name.find(part) != name.npos) return kZarr;
  if (base == "zarr.json") return kZarr;
  if (base == "data.mdb") return kLmdb;
  const std::string_view plain = without_number(base);
  struct Ending {
    std::string_view end;
    Foreign what;
  };
  for (const Ending& one :
       {Ending{".parquet", kParquet}, Ending{".arrow", kArrow}, Ending{".feather", kArrow}, Ending{".h5", kHdf5},
        Ending{".hdf5", kHdf5}, Ending{".he5", kHdf5}, Ending{".beton", kBeton}, Ending{".array_record", kArrayRecord},
        Ending{".arrayrecord", kArrayRecord}, Ending{".riegeli", kArrayRecord}, Ending{".lmdb", kLmdb},
        Ending{".mdb", kLmdb}, Ending{".npy", kNpz}, Ending{".npz", kNpz}})
    if (plain.ends_with(one.end)) return one.what;
  unsigned char first[24] = {};
  if (from(0, first, sizeof first) < 20) return {};
  const auto has = [&first](std::size_t at, std::string_view magic) {
    return std::memcmp(first + at, magic.data(), magic.size()) == 0;
  };
  using namespace std::string_view_literals;
  if (has(0, "version https://git-lfs."sv)) return kGitLfs;
  if (has(0, "PAR1"sv)) return kParquet;
  if (has(0, "ARROW1"sv)) return kArrow;
  if (has(0, "\x89HDF\r\n\x1a\n"sv)) return kHdf5;
  if (has(16, "\xde\xc0\xef\xbe"sv)) return kLmdb;
  if (has(0, "\x0a\x23\xd7\xce"sv)) return kRecordIo;
  if (has(0, "MMIDIDX\0"sv)) return kMegatron;
  if (has(0, "\x93NUMPY"sv)) return kNpz;
  for (const std::string_view magic : {"\x1f\x8b"sv, "\x28\xb5\x2f\xfd"sv, "BZh"sv, "\xfd\x37zXZ"sv})
    if (has(0, magic)) return {"compressed as a whole", kConvert};
  return {};
}

}  // namespace headrace::formats
