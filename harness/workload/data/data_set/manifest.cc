// Reads and writes manifest.json.
#include "harness/workload/data/data_set/manifest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/base/error.h"
#include "harness/base/system/open_quiet.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/data_set/sample_files.h"

namespace headrace {
namespace {

constexpr int kSchema = 1;
constexpr const char* kKind = "headrace.data_set";

nlohmann::json parsed(std::string_view text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto kind = json.is_object() ? json.find("kind") : json.end();
  return kind != json.end() && *kind == kKind ? json : nlohmann::json();
}

/// 0 when it is missing, or no whole number from 0 on.
std::uint64_t number_at(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

bool is_in_the_way(const files::Folder& folder) {
  return folder.look(Manifest::kFile) && !is_manifest(folder.read(Manifest::kFile));
}

}  // namespace

bool is_manifest(std::string_view text) { return parsed(text).is_object(); }

std::optional<Manifest> parse_manifest(std::string_view text) {
  const nlohmann::json json = parsed(text);
  if (!json.is_object() || number_at(json, "schema") != kSchema) return std::nullopt;
  Manifest manifest;
  const auto state = json.find("state");
  manifest.complete = state != json.end() && *state == "complete";
  manifest.spec.files = number_at(json, "files");
  manifest.spec.file_size = number_at(json, "file_size");
  manifest.spec.file_size_spread = number_at(json, "file_size_spread");
  manifest.spec.files_per_folder = number_at(json, "files_per_folder");
  manifest.spec.seed = number_at(json, "data_seed");
  if (json.contains("content")) {
    if (!json["content"].is_string()) return std::nullopt;
    manifest.spec.content = json["content"];
    manifest.spec.content_sample = number_at(json, "content_sample");
  }
  if (manifest.spec.files == 0 || manifest.spec.file_size == 0 || manifest.spec.files_per_folder == 0)
    return std::nullopt;
  manifest.made = manifest.complete ? manifest.spec.files : std::min(number_at(json, "made"), manifest.spec.files);
  return manifest;
}

std::string manifest_text(const Manifest& manifest) {
  const DataSetSpec& spec = manifest.spec;
  nlohmann::ordered_json json{{"kind", kKind},
                              {"schema", kSchema},
                              {"state", manifest.complete ? "complete" : "making"},
                              {"made", manifest.complete ? spec.files : manifest.made},
                              {"files", spec.files},
                              {"file_size", spec.file_size},
                              {"file_size_spread", spec.file_size_spread},
                              {"files_per_folder", spec.files_per_folder},
                              {"data_seed", spec.seed}};
  if (spec.holds_samples()) {
    json["content"] = spec.content;
    json["content_sample"] = spec.content_sample;
  }
  return json.dump(2) + "\n";
}

std::optional<Manifest> read_manifest(const files::Folder& folder, const DataSetSpec& spec) {
  auto manifest = parse_manifest(folder.read(Manifest::kFile));
  if (manifest && manifest->spec.id() != spec.id()) manifest.reset();
  return manifest;
}

void write_manifest(const files::Folder& folder, const Manifest& manifest) {
  if (is_in_the_way(folder))
    throw RunError("create " + folder.path_of(Manifest::kFile) +
                   ": refusing to overwrite: headrace did not make this file");
  folder.put(Manifest::kFile, manifest_text(manifest));
}

void remove_manifest(const files::Folder& folder) {
  const auto found = folder.look(Manifest::kFile);
  if (found && !is_in_the_way(folder)) folder.remove(Manifest::kFile, *found);
}

namespace {

bool later(const struct timespec& a, const struct timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

bool read_at(int fd, std::uint64_t at, unsigned char* to, std::uint64_t length) {
  return ::pread(fd, to, length, static_cast<off_t>(at)) == static_cast<ssize_t>(length);
}

bool are_whole(const SampleFile& file, int fd) {
  std::vector<unsigned char> bytes;
  for (std::uint64_t i = 0; i < file.count(); ++i) {
    const SamplePlace place = file.place(i);
    bytes.resize(place.size);
    if (!read_at(fd, place.offset, bytes.data(), place.size) || !file.wrong(i, bytes).empty()) return false;
  }
  return true;
}

}  // namespace

FileProof::FileProof(const DataSetLayout& layout, const files::Folder& folder) : layout_(layout) {
  const auto manifest = read_manifest(folder, layout.spec());
  const auto status = folder.look(Manifest::kFile);
  if (!manifest || !status) return;
  since_ = status->st_ctim;
  made_ = manifest->made;
}

bool FileProof::untouched(const struct stat& status, std::uint64_t file) const {
  return settled(file) && files::bears_mark(status) && !later(status.st_ctim, *since_) &&
         static_cast<std::uint64_t>(status.st_size) == layout_.size(file);
}

FileProof::Answer FileProof::look(const files::Folder& folder, const char* name, std::uint64_t file) const {
  Answer answer;
  if (::fstatat(folder.fd(), name, &answer.status, AT_SYMLINK_NOFOLLOW) != 0) {
    answer.found = errno == ENOENT ? Found::absent : Found::foreign;
  } else if (!S_ISREG(answer.status.st_mode)) {
    answer.found = Found::foreign;
  } else {
    answer.found = untouched(answer.status, file) ? Found::whole : judge(folder, name, file, answer.status);
  }
  return answer;
}

FileProof::Found FileProof::judge(const files::Folder& folder, const char* name, std::uint64_t file,
                                  const struct stat& status) const {
  const auto size = static_cast<std::uint64_t>(status.st_size), full = layout_.size(file);
  const bool marked = files::bears_mark(status);
  // Writing ends on a whole block before it is cut to size.
  if (size >= full + kBlock) return Found::foreign;
  if (size == 0) return marked ? Found::part : Found::foreign;
  if (size < kLabelBytes && !marked) return Found::foreign;  // too short to show its owner

  const system::UniqueFd fd = system::open_quiet(folder.fd(), name, O_NOFOLLOW | O_NONBLOCK);
  struct stat opened;
  if (!fd || ::fstat(fd.get(), &opened) != 0 || !files::same(opened, status)) return Found::foreign;
  unsigned char expected[kBlock], found[kBlock];
  const std::uint64_t first = std::min(kBlock, size);
  const bool samples = layout_.spec().holds_samples();
  if (!samples) fill_range(layout_.key(), file, 0, expected, first);
  if (!read_at(fd.get(), 0, found, first)) return Found::foreign;
  const bool own =
      samples ? SampleFile(layout_, file).is_begin({found, first}) : std::memcmp(expected, found, first) == 0;
  if (!own) {
    // Space that was set aside and never written, as after a loss of power.
    const bool empty = std::all_of(found, found + first, [](unsigned char c) { return c == 0; });
    if (!marked || !empty) return Found::foreign;
    return settled(file) && size == full ? Found::whole : Found::part;
  }
  if (size != full) return Found::part;
  // Damage of a finished set must be found by verify and the sample, not repaired silently. One that was cut short may
  // end in blocks that never reached the storage.
  if (settled(file)) return Found::whole;
  if (samples) return are_whole(SampleFile(layout_, file), fd.get()) ? Found::whole : Found::part;
  const std::uint64_t last = (full - 1) / kBlock * kBlock;
  fill_range(layout_.key(), file, last, expected, full - last);
  const bool whole = read_at(fd.get(), last, found, full - last) && std::memcmp(expected, found, full - last) == 0;
  return whole ? Found::whole : Found::part;
}

}  // namespace headrace
