// Generated data sets in an object store, below the prefix that headrace marked.
//
//   data/ID/manifest.json     how many files, from the first on, are whole: as of a folder
//   data/ID/etags/d000        the store's answer for each object of d000 when it had taken it
//   data/ID/d000/f000000.bin
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/objects/scratch.h"
#include "harness/record/data_report.h"
#include "harness/record/file_table.h"
#include "harness/record/params.h"
#include "harness/workload/data/data_set/layout.h"

namespace headrace {

class Node;

/// The set below the node's prefix. It is kept where its manifest and ETags prove it, else made. Of several processes
/// the first of the team makes it. Throws RunError; then this call's objects are removed.
FileTable open_generated_objects(const DataSetLayout& layout, Node& node, const DataProgress& progress);

/// Removes every generated set: objects whose ETags are those of the lists, or whose content proves that headrace made
/// them. No other process may use the prefix at the same time. Throws RunError.
CleanReport remove_object_sets(const objects::Scratch& scratch);

/// The folder of the lists, below the set's own.
inline constexpr std::string_view kEtags = "etags/";

/// The list of one folder's ETags, by the files' numbers from the folder's first on.
std::string etags_text(const std::string& id, const std::string& folder, const std::vector<std::string>& etags);
/// Nothing when the text is none of that set and folder.
std::optional<std::vector<std::string>> parse_etags(std::string_view text, const std::string& id,
                                                    const std::string& folder);

}  // namespace headrace
