// Makes a data set's files: several threads, large writes, continued where an earlier run was cut
// short.
#pragma once

#include <optional>

#include "harness/base/files/marked_folder.h"
#include "harness/workload/data/data_set/layout.h"

namespace headrace {

class Codec;
class Node;

/// Brings the marked folder `folder` to the state that `layout` describes: complete and on the storage. Existing right
/// files are kept. Throws RunError when there is too little space (checked first), a file is not headrace's, or writing
/// fails. Then the files made by this call are removed again. An exception from `progress` stops it and leaves the new
/// files, to be continued later.
///
/// `codec`: of the samples that files are to hold; nullptr: they hold blocks.
///
/// With `limit_s` it ends after about that time, by the speed that the storage really has. There are fewer files, each of its own
/// size, which a later call continues. Returns how many, from the first on, are whole and on the storage; throws
/// Unsupported where not even one is.
std::uint64_t generate(const DataSetLayout& layout, const MarkedFolder& folder, const Node& node, const Codec* codec,
                       const DataProgress& progress, std::optional<double> limit_s);

/// How many files, from the first on, match the manifest: all of layout.files() when the set is complete.
std::uint64_t whole_files(const DataSetLayout& layout, const files::Folder& root, const Node& node);

}  // namespace headrace
