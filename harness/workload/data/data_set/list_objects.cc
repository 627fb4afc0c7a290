// Lists the user's objects.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/backends/formats/format.h"
#include "harness/backends/object_store.h"
#include "harness/base/clock.h"
#include "harness/base/data_path.h"
#include "harness/base/diagnostics.h"
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

/// Why a folder of the key, or its last part, is no part of a copy; "" where all are. Throws UsageError for a key that no
/// file of a folder has.
std::string left_out_of_copy(const WalkRules& rules, const std::string& url, std::string_view key) {
  if (key.empty() || key.ends_with('/')) return "marker of a folder";
  if (key.starts_with('/') || key.find("//") != key.npos)
    throw UsageError(fmt::format("{}: the key {} has an empty folder name: rename that object", url, key));
  for (std::size_t begin = 0;;) {
    const std::size_t slash = key.find('/', begin);
    const std::string why = rules.leaves_out(key.substr(begin, slash - begin), slash != key.npos);
    if (!why.empty() || slash == key.npos) return why;
    begin = slash + 1;
  }
}

}  // namespace

Walked list_objects(ObjectStore& store, const std::string& url, const WalkRules& rules, const DataProgress& progress) {
  constexpr std::size_t kNamed = 8;
  constexpr std::uint64_t kEach_ns = 100'000'000;
  // Keys come one by one, their prefix at the end: with it the table begins anew.
  FileTable objects(-1, url);
  objects.set_objects();
  std::map<std::string, std::uint64_t> left_out;
  Walked walked;
  std::uint64_t reported_ns = 0;
  std::set<std::string, std::less<>> folders;
  const auto list = [&](const std::string& folder) {
    return store.list(folder, [&](const ListedObject& object) {
      if (progress && now_ns() - reported_ns > kEach_ns) {
        reported_ns = now_ns();
        progress(objects.count(), 0, "listing objects");
      }
      if (const std::size_t slash = object.key.find('/'); rules.leaves_out && slash != object.key.npos)
        folders.emplace(object.key.substr(0, slash));
      if (const std::string why = rules.leaves_out ? left_out_of_copy(rules, url, object.key)
                                                   : std::string(formats::by_product_on_path(object.key));
          !why.empty())
        return void(++left_out[why]);
      const bool taken = (object.size > 0 || rules.leaves_out) && object.key.find('\0') == std::string_view::npos;
      if (taken) objects.add(object.key, object.size, object.version);
      if (object.size == 0 && walked.empty.size() < kNamed) walked.empty.emplace_back(object.key);
      if (!taken && rules.leaves_out) throw UsageError(url + ": a key holds a zero byte: rename that object");
      if (!taken) ++left_out[object.size == 0 ? "empty" : "a key that holds a zero byte"];
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
  walked.folders.assign(folders.begin(), folders.end());
  walked.left_out.assign(left_out.begin(), left_out.end());
  return walked;
}

}  // namespace headrace
