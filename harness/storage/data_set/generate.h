// Makes a data set's files: several threads, large writes, continued where an earlier run was cut
// short.
#pragma once

#include "harness/files/marked_folder.h"
#include "harness/storage/data_set/layout.h"

namespace headrace {

class Node;

/// Brings the marked folder `folder` to the state that `layout` describes:
/// complete and on the storage. What is there and right is kept. Throws RunError when there is too
/// little space (checked first), when a file in the way is not headrace's, or when writing fails;
/// then the files made by this call are removed again. An exception from `progress` stops it and
/// leaves what was made, to be continued later.
void generate(const DataSetLayout& layout, const MarkedFolder& folder, const Node& node, const DataProgress& progress);

/// Was the manifest finished, and are all files there that it spoke of?
bool is_complete(const DataSetLayout& layout, const files::Folder& root, const Node& node);

}  // namespace headrace
