// Reads and writes manifest.json.
#include "harness/data_set/manifest.h"

#include <nlohmann/json.hpp>

#include "harness/system/small_file.h"

namespace headrace {
namespace {

constexpr int kSchema = 1;
constexpr const char* kKind = "headrace.data_set";

}  // namespace

std::optional<Manifest> read_manifest(int folder) {
  const auto json = nlohmann::json::parse(system::read_small_file(folder, Manifest::kFile), nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("kind", "") != kKind || json.value("schema", 0) != kSchema)
    return std::nullopt;
  Manifest manifest;
  manifest.complete = json.value("state", "") == "complete";
  manifest.spec.files = json.value("files", std::uint64_t{0});
  manifest.spec.file_size = json.value("file_size", std::uint64_t{0});
  manifest.spec.file_size_spread = json.value("file_size_spread", std::uint64_t{0});
  manifest.spec.files_per_folder = json.value("files_per_folder", std::uint64_t{0});
  manifest.spec.seed = json.value("data_seed", std::uint64_t{0});
  if (manifest.spec.files == 0 || manifest.spec.file_size == 0 ||
      manifest.spec.files_per_folder == 0)
    return std::nullopt;
  return manifest;
}

void write_manifest(int folder, const std::string& path, const Manifest& manifest) {
  const DataSetSpec& spec = manifest.spec;
  const nlohmann::ordered_json json{{"kind", kKind},
                                    {"schema", kSchema},
                                    {"state", manifest.complete ? "complete" : "making"},
                                    {"files", spec.files},
                                    {"file_size", spec.file_size},
                                    {"file_size_spread", spec.file_size_spread},
                                    {"files_per_folder", spec.files_per_folder},
                                    {"data_seed", spec.seed}};
  system::replace_small_file(folder, Manifest::kFile, Manifest::kUnfinished, json.dump(2) + "\n",
                             path + "/" + Manifest::kFile);
}

}  // namespace headrace
