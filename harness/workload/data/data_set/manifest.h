// What a generated data set's folder says of itself, so that it can be continued, used again and
// removed.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "harness/workload/data/data_set.h"

namespace headrace {

/// The kind of the mark in a data set's folder.
inline constexpr const char* kSetKind = "data_set";

/// Written anew after files have reached the storage: `complete` when all have, `made` as long as the first so many have.
struct Manifest {
  static constexpr const char* kFile = "manifest.json";

  DataSetSpec spec;
  bool complete = false;
  std::uint64_t made = 0;  // files, from the first on, that are whole on the storage; spec.files of a complete one
};

/// Is the text one that headrace wrote, be it damaged? It says so itself.
bool is_manifest(std::string_view text);
/// Nothing when the text is no manifest, or makes no sense.
std::optional<Manifest> parse_manifest(std::string_view text);
std::string manifest_text(const Manifest& manifest);

/// The one in `folder`; nothing when there is none, or it is not one of the set that the folder is
/// named after.
std::optional<Manifest> read_manifest(const files::Folder& folder, const DataSetSpec& spec);

/// Written aside, synced, renamed. Throws RunError: when the system refuses, or when something that
/// headrace did not make is in the way.
void write_manifest(const files::Folder& folder, const Manifest& manifest);

/// Removes it if it is headrace's; a stranger stays.
void remove_manifest(const files::Folder& folder);

}  // namespace headrace
