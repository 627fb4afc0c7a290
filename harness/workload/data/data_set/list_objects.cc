// Lists the user's objects.
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/backends/formats/format.h"
#include "harness/backends/object_store.h"
#include "harness/base/clock.h"
#include "harness/base/data_path.h"
#include "harness/base/error.h"
#include "harness/workload/data/data_set/walk.h"

namespace headrace {
namespace {

/// Which keys below a folder a pattern names.
class Wanted {
 public:
  Wanted(const std::string& pattern, std::size_t folder) {
    for (std::string& one : spread_braces(pattern)) {
      one.erase(0, folder);
      (one.find_first_of("*?[") == one.npos ? names_ : globs_).insert(std::move(one));
    }
  }
  bool has(const std::string& key) const {
    return names_.contains(key) || std::any_of(globs_.begin(), globs_.end(), [&](const std::string& glob) {
             return ::fnmatch(glob.c_str(), key.c_str(), FNM_PATHNAME) == 0;
           });
  }

 private:
  std::set<std::string> names_, globs_;
};

}  // namespace

Walked list_objects(ObjectStore& store, const std::string& url, const WalkRules& rules, const DataProgress& progress) {
  constexpr std::size_t kNamed = 8;
  constexpr std::uint64_t kEach_ns = 100'000'000;
  // Keys come one by one, what is before them at the end: with it the table begins anew.
  FileTable objects(-1, url);
  objects.set_objects();
  std::map<std::string, std::uint64_t> left_out;
  Walked walked;
  std::uint64_t reported_ns = 0;
  const auto list = [&](const std::string& folder) {
    return store.list(folder, [&](const ListedObject& object) {
      if (progress && now_ns() - reported_ns > kEach_ns) {
        reported_ns = now_ns();
        progress(objects.count(), 0, "listing objects");
      }
      if (const std::string_view why = formats::by_product_on_path(object.key); !why.empty())
        return void(++left_out[std::string(why)]);
      if (object.size > 0 && object.key.find('\0') == std::string_view::npos)
        return objects.add(object.key, object.size, object.version);
      if (object.size == 0 && walked.empty.size() < kNamed) walked.empty.emplace_back(object.key);
      ++left_out[object.size == 0 ? "empty" : "a key that holds a zero byte"];
    });
  };
  std::string root = list(url);
  if (objects.count() == 0 && left_out.empty() && is_pattern(url)) {
    const std::string folder = folder_of_pattern(url) + "/";
    const Wanted wanted(url, folder.size());
    root = list(folder);
    objects.keep_only([&](std::uint32_t file) { return wanted.has(std::string(objects.name(file))); });
  }
  if (objects.count() == 0)
    throw RunError(url + ": no object lies below it" + (left_out.empty() ? "" : " but empty ones and by-products"));
  if (rules.images) leave_out_other_files(objects, left_out);
  objects.set_root(root);
  walked.files = std::move(objects);
  walked.left_out.assign(left_out.begin(), left_out.end());
  return walked;
}

}  // namespace headrace
