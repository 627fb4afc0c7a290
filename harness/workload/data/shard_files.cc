#include "harness/workload/data/shard_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace headrace {
namespace {

using formats::Format;

/// "a/train-00012-of-00020" -> "train-#-of-#".
std::string shape_of(std::string_view path) {
  std::string shape;
  for (const char c : path.substr(path.rfind('/') + 1)) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && shape.ends_with('#')) continue;
    shape += digit ? '#' : c;
  }
  return shape;
}

Format by_name(const FileTable& files, std::uint32_t file) {
  const Format format = formats::format_by_name(files.name(file));
  return format == Format::mds && files.holds_objects() ? Format::none : format;
}

/// The format of each kind of name, by the content of a few files.
class Kinds {
 public:
  Kinds(const FileTable& files, const LookInto& look) : files_(files), look_(look) {}

  Format of(std::uint32_t file) {
    const std::string_view name = files_.name(file);
    if (formats::is_side_file(name)) return Format::none;
    Kind& kind = kinds_[shape_of(name)];
    if (kind.format == Format::none && kind.looks < kLooks && looks_ < kMostLooks) {
      ++kind.looks;
      ++looks_;
      kind.format = formats::format_by_content(look_(file));
    }
    return kind.format;
  }
  std::set<std::string> shapes(Format format) const {
    std::set<std::string> found;
    for (const auto& [shape, kind] : kinds_)
      if (kind.format == format) found.insert(shape);
    return found;
  }

 private:
  static constexpr unsigned kLooks = 3, kMostLooks = 256;  // of a kind, of all
  struct Kind {
    Format format = Format::none;
    unsigned looks = 0;
  };
  const FileTable& files_;
  const LookInto& look_;
  std::map<std::string, Kind> kinds_;
  unsigned looks_ = 0;
};

using Counts = std::array<std::uint32_t, 4>;

/// The one that most files have, the first one of equals.
Format most_of(const Counts& counts) {
  const auto most = std::max_element(counts.begin() + 1, counts.end());
  return *most > 0 ? static_cast<Format>(most - counts.begin()) : Format::none;
}

template <class FormatOf>
void choose(const FileTable& files, const FormatOf& format_of, ShardFiles& found) {
  Counts counts{};
  for (std::uint32_t file = 0; file < files.count(); ++file) ++counts[static_cast<std::size_t>(format_of(file))];
  found.format = most_of(counts);
  if (found.format == Format::none) return;
  for (std::uint32_t file = 0; file < files.count(); ++file)
    if (format_of(file) == found.format) found.files.push_back(file);
  found.others = files.count() - static_cast<std::uint32_t>(found.files.size());
}

/// The first that is no side file, or the first.
std::uint32_t typical(const FileTable& files) {
  for (std::uint32_t file = 0; file < files.count(); ++file)
    if (!formats::is_side_file(files.name(file))) return file;
  return 0;
}

}  // namespace

bool ShardFiles::has(std::string_view name) const {
  return shapes.empty() ? formats::format_by_name(name) == format : shapes.contains(shape_of(name));
}

ShardFiles shard_files(const FileTable& files, const LookInto& look) {
  ShardFiles found;
  choose(
      files, [&](std::uint32_t file) { return by_name(files, file); }, found);
  if (found.format != Format::none || files.count() == 0) return found;
  if (!files.is_device()) {
    Kinds kinds(files, look);
    choose(
        files, [&](std::uint32_t file) { return kinds.of(file); }, found);
    found.shapes = kinds.shapes(found.format);
  }
  if (found.format != Format::none) return found;
  for (std::uint32_t file = 0; file < files.count(); ++file) found.files.push_back(file);
  const std::uint32_t one = typical(files);
  if (!files.is_device()) found.foreign = formats::foreign_format(files.full_path(one), look(one));
  return found;
}

}  // namespace headrace
