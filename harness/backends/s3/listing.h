// Names and sizes of the objects below a prefix.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/object_store.h"
#include "harness/backends/s3/readers.h"

namespace headrace::s3 {

/// ObjectStore::list().
std::string list_objects(std::shared_ptr<const Settings> settings, const std::string& url, Ledger& ledger,
                         const std::function<void(const ListedObject&)>& each);

/// The query for a page of the keys with that prefix; `delimited`: but those that have a '/' after it.
std::string page_query(const std::string& prefix, const std::string& token, bool delimited = false);

/// One page of an answer to ListObjectsV2.
struct ListedPage {
  std::string next;                  // the token of the next one; "" = it was the last
  std::vector<std::string> folders;  // with a delimiter: the prefixes of its keys
};
/// Calls `each` with every object of the page; its key is the whole one, which begins with `prefix`. Throws
/// std::invalid_argument where the text is none, or lists anything else.
ListedPage parse_page(const std::string& prefix, std::string& text,
                      const std::function<void(const ListedObject&)>& each);

}  // namespace headrace::s3
