// Lists the user's objects.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/backends/formats/format.h"
#include "harness/backends/object_store.h"
#include "harness/base/clock.h"
#include "harness/base/data_path.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/workload/data/data_set/walk.h"

namespace headrace {
namespace {

/// Which keys below a folder a pattern names: those themselves, and those below folders that it names.
class Wanted {
 public:
  Wanted(std::string pattern, std::size_t folder) : pattern_(std::move(pattern)), folder_(folder) {
    for (std::string& one : spread_braces(pattern_)) {
      one.erase(0, folder);
      if (one.find_first_of("*?[") != one.npos)
        globs_.insert(std::move(one));
      else if (names_.emplace(one, false).second)
        order_.push_back(std::move(one));
    }
  }
  /// `key` is there, be it empty.
  void see(const std::string& key) {
    each_part(key, [this](const std::string& part) {
      if (const auto name = names_.find(part); name != names_.end()) name->second = true;
      return false;
    });
  }
  bool has(const std::string& key) const {
    return each_part(key, [this](const std::string& part) {
      return names_.contains(part) || std::any_of(globs_.begin(), globs_.end(), [&](const std::string& glob) {
               return ::fnmatch(glob.c_str(), part.c_str(), FNM_PATHNAME) == 0;
             });
    });
  }
  /// As of files: throws RunError where some names are there and others are not.
  void refuse_missing() const {
    const auto is_missing = [this](const std::string& name) { return !names_.at(name); };
    const auto first = std::ranges::find_if(order_, is_missing);
    if (first == order_.end()) return;
    throw RunError(fmt::format("{}: {} of {} objects that it names are missing, {} first", pattern_,
                               std::ranges::count_if(order_, is_missing), order_.size(),
                               pattern_.substr(0, folder_) + *first));
  }

 private:
  /// "a/b/c": "a", "a/b", "a/b/c", until `is_it` is true.
  template <class Is>
  static bool each_part(const std::string& key, const Is& is_it) {
    for (std::size_t end = key.find('/'); end != key.npos; end = key.find('/', end + 1))
      if (is_it(key.substr(0, end))) return true;
    return is_it(key);
  }

  std::string pattern_;
  std::size_t folder_;
  std::map<std::string, bool> names_;  // and whether it is there
  std::vector<std::string> order_;     // of the names
  std::set<std::string> globs_;
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
  std::optional<Wanted> wanted;
  const auto list = [&](const std::string& folder) {
    return store.list(folder, [&](const ListedObject& object) {
      if (progress && now_ns() - reported_ns > kEach_ns) {
        reported_ns = now_ns();
        progress(objects.count(), 0, "listing objects");
      }
      if (wanted) wanted->see(std::string(object.key));
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
    wanted.emplace(url, folder.size());
    root = list(folder);
    objects.keep_only([&](std::uint32_t file) { return wanted->has(std::string(objects.name(file))); });
    if (objects.count() > 0) wanted->refuse_missing();
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
