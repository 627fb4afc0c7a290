// Reads and writes manifest.json.
#include "harness/workload/data/data_set/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/error.h"

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

}  // namespace headrace
