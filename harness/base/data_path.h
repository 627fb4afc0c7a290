// The user's place of data: a path, a pattern of shells or WebDataset, an address.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// Why files of the user's data are left out that this user may not read.
inline constexpr const char* kNotReadable = "not readable";

/// A path or "s3://" address as headrace reads it: "file:///a" becomes "/a", "s3a://b" becomes "s3://b". Throws UsageError for
/// addresses that are not read, and for "~/a" and "$HOME/a", with what to do in their place.
std::string data_path(const std::string& given);

/// Has it braces or wildcards: "data/{000..999}.tar", "data/*.tar", "{train,val}/*.tar"?
bool is_pattern(std::string_view path) noexcept;

/// Up to the last '/' before the first of them, which is left out; "" where there is none.
std::string folder_of_pattern(std::string_view pattern);

/// Braces spread as WebDataset and bash do, {000..009..3} and {a..c} too; wildcards stay. Throws UsageError for more
/// than a million.
std::vector<std::string> spread_braces(const std::string& pattern);

/// The existing paths of the pattern, each once, in its order. Throws UsageError where a name without a wildcard does
/// not exist, as WebDataset does. Throws RunError where a folder cannot be listed or entered.
std::vector<std::string> paths_of_pattern(const std::string& pattern);

/// Is a file, a folder, or something that a pattern names there? Throws RunError where a folder may not be entered.
bool is_data_at(const std::string& path);

/// The canonical place that links lead to. Folders that do not exist yet keep their names.
std::filesystem::path place_of(const std::string& path);

/// The canonical places of the user's data. Of a pattern: the folders that it names, and those with its files.
std::set<std::filesystem::path> places_of_data(const std::string& path);

/// Is `inner` the folder `outer`, or below it? Both are canonical.
bool lies_in(const std::filesystem::path& inner, const std::filesystem::path& outer);

}  // namespace headrace
