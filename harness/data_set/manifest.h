// What a generated data set's folder says of itself, so that it can be continued, used again and
// removed.
#pragma once

#include <optional>

#include "harness/data_set.h"

namespace headrace {

/// `complete` is written last, after everything else is on the storage.
struct Manifest {
  static constexpr const char* kFile = "manifest.json";
  static constexpr const char* kUnfinished = "manifest.json.new";

  DataSetSpec spec;
  bool complete = false;
};

/// From the folder's descriptor; nothing when there is none or it makes no sense.
std::optional<Manifest> read_manifest(int folder);

/// Written aside, synced, renamed. Throws RunError naming `path`.
void write_manifest(int folder, const std::string& path, const Manifest& manifest);

}  // namespace headrace
