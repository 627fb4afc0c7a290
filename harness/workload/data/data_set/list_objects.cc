// Lists the user's objects.
#include <map>

#include "harness/backends/object_store.h"
#include "harness/base/clock.h"
#include "harness/base/error.h"
#include "harness/workload/data/data_set/walk.h"

namespace headrace {

Walked list_objects(ObjectStore& store, const std::string& url, const DataProgress& progress) {
  constexpr std::size_t kNamed = 8;
  constexpr std::uint64_t kEach_ns = 100'000'000;
  // Keys come one by one, what stands before them at the end: with it the table begins anew.
  FileTable objects(-1, url);
  objects.set_objects();
  std::map<std::string, std::uint64_t> left_out;
  Walked walked;
  std::uint64_t told_ns = 0;
  const std::string root = store.list(url, [&](const ListedObject& object) {
    if (progress && now_ns() - told_ns > kEach_ns) {
      told_ns = now_ns();
      progress(objects.count(), 0, "listing objects");
    }
    if (object.size > 0 && object.key.find('\0') == std::string_view::npos)
      return objects.add(object.key, object.size, object.version);
    if (object.size == 0 && walked.empty.size() < kNamed) walked.empty.emplace_back(object.key);
    ++left_out[object.size == 0 ? "empty" : "a key that holds a zero byte"];
  });
  if (objects.count() == 0)
    throw RunError(url + ": no object lies below it" + (left_out.empty() ? "" : " but empty ones"));
  objects.set_root(root);
  walked.files = std::move(objects);
  walked.left_out.assign(left_out.begin(), left_out.end());
  return walked;
}

}  // namespace headrace
