#include "harness/base/data_path.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/object_path.h"

namespace headrace {
namespace {

constexpr std::string_view kSpecial = "{*?[";
constexpr std::string_view kWildcards = "*?[";
constexpr std::size_t kMost = 1'000'000;

/// What to give in place of addresses of these schemes; {} is replaced by the bucket and the rest.
struct Schemes {
  std::string_view names, instead;
};
constexpr Schemes kOthers[] = {
    {" gs gcs ",
     "give s3://{} with AWS_ENDPOINT_URL=https://storage.googleapis.com and an HMAC key, as Google's storage "
     "speaks S3"},
    {" r2 ", "give s3://{} with AWS_ENDPOINT_URL=https://ACCOUNT.r2.cloudflarestorage.com, as R2 speaks S3"},
    {" oss ", "give s3://{} with AWS_ENDPOINT_URL=https://s3.oss-REGION.aliyuncs.com, as OSS speaks S3"},
    {" cos oci swift b2 ", "give s3://{} with the store's S3 endpoint in AWS_ENDPOINT_URL"},
    {" hf ",
     "download it (hf download --repo-type dataset NAME) and give the folder that this prints; its links are followed"},
    {" az abfs abfss wasb wasbs adl ",
     "mount the container (blobfuse2) or copy it, and give the folder, as Azure's storage "
     "does not speak S3"},
    {" hdfs ", "mount HDFS (its NFS gateway) or copy it, and give the folder"},
    {" dbfs ", "give the folder /dbfs/{}"},
    {" http https ",
     "copy the files and give the folder; of an S3 store give s3://BUCKET/PREFIX with AWS_ENDPOINT_URL"},
};

/// "gs" of "gs://bucket", in small letters; "" of a path.
std::string scheme_of(std::string_view path) {
  std::string scheme;
  for (const char c : path) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    if (c == ':') return scheme.size() > 1 ? scheme : "";
    if (!((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || c == '+' || c == '-' || c == '.'))
      return "";
    scheme += lower;
  }
  return "";
}

/// "%20" -> ' '.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      plain += static_cast<char>(code);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::string local_path(const std::string& given, std::string_view rest) {
  if (rest.starts_with("//localhost/")) rest.remove_prefix(std::string_view("//localhost").size());
  if (rest.starts_with("///")) rest.remove_prefix(2);
  if (rest.starts_with("//"))
    throw UsageError(fmt::format("'{}' names another host: write file:///PATH, or the path alone", given));
  return without_escapes(rest);
}

/// "~/a" and "$HOME/a" in quotes or files reach headrace as they are: shells alone expand them.
void refuse_unexpanded(const std::string& given) {
  const std::string first = given.substr(0, given.find('/'));
  if (first != "~" && !first.starts_with('$')) return;
  const char* const home = std::getenv("HOME");
  const bool known = home != nullptr && (first == "~" || first == "$HOME" || first == "${HOME}");
  throw UsageError(fmt::format("`{0}` is not expanded here: write {1}, or ./{2} for a folder of this name", first,
                               known ? home + given.substr(first.size()) : "the whole path", given));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> letter(std::string_view text) {
  const char c = text.size() == 1 ? text[0] : ' ';
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? std::optional<std::int64_t>(c) : std::nullopt;
}

/// "007", "-07": as wide are all names of the range.
bool has_zeros(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0';
}

/// The names of a range as bash spreads it: "000..009", "9..0", "0..9..3", "a..c". None: it is no range.
std::vector<std::string> range_of(std::string_view text, const std::string& pattern) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return {};
  const std::size_t more = std::min(text.find("..", dots + 2), text.size());
  const std::string_view first = text.substr(0, dots), last = text.substr(dots + 2, more - dots - 2);
  const bool letters = letter(first) && letter(last);
  const auto begin = letters ? letter(first) : whole_number(first), end = letters ? letter(last) : whole_number(last);
  const auto step = more == text.size() ? std::optional<std::int64_t>(1) : whole_number(text.substr(more + 2));
  if (!begin || !end || !step) return {};
  // The direction follows from the ends; the sign of the step does not matter.
  const auto size = [](std::int64_t value) { return value < 0 ? 0 - static_cast<std::uint64_t>(value) : value; };
  const std::uint64_t from = static_cast<std::uint64_t>(*begin), to = static_cast<std::uint64_t>(*end);
  const std::uint64_t stride = std::max<std::uint64_t>(size(*step), 1);
  const std::uint64_t steps = (*begin <= *end ? to - from : from - to) / stride;
  if (steps >= kMost) throw UsageError(fmt::format("'{}' names more than {} files", pattern, kMost));
  const std::size_t width = has_zeros(first) || has_zeros(last) ? std::max(first.size(), last.size()) : 1;
  std::vector<std::string> names;
  for (std::uint64_t n = 0; n <= steps; ++n) {
    const auto value = static_cast<std::int64_t>(*begin <= *end ? from + n * stride : from - n * stride);
    names.push_back(letters ? std::string(1, static_cast<char>(value)) : fmt::format("{:0{}}", value, width));
  }
  return names;
}

/// One pair of braces spread, the first; false: there is none.
bool spread_first(const std::string& pattern, std::vector<std::string>& into) {
  const std::size_t begin = pattern.find('{');
  if (begin == pattern.npos) return false;
  std::size_t end = begin, depth = 0;
  std::vector<std::string> parts(1);
  for (; end < pattern.size(); ++end) {
    const char c = pattern[end];
    if (c == '{' && depth++ == 0) continue;
    if (c == '}' && --depth == 0) break;
    if (c == ',' && depth == 1)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (end == pattern.size()) return false;
  if (parts.size() == 1) {
    parts = range_of(parts[0], pattern);
    if (parts.empty()) return false;
  }
  for (const std::string& part : parts) into.push_back(pattern.substr(0, begin) + part + pattern.substr(end + 1));
  return true;
}

/// The matches of a wildcard.
std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &found), why = errno;
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (code == GLOB_ABORTED && (why == ENOENT || why == ENOTDIR)) return {};  // a folder that is not there
  if (code != 0 && code != GLOB_NOMATCH) throw system_error("list", pattern, code == GLOB_NOSPACE ? ENOMEM : why);
  return paths;
}

bool exists(const std::string& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (error == std::errc::permission_denied) throw system_error("look at", path, error.value());
  return there;
}

}  // namespace

std::string data_path(const std::string& given) {
  refuse_unexpanded(given);
  const std::string scheme = scheme_of(given);
  if (scheme.empty() || exists(given)) return given;
  std::string_view rest = std::string_view(given).substr(scheme.size() + 1);
  if (scheme == "file") return local_path(given, rest);
  if (scheme == "s3" || scheme == "s3a" || scheme == "s3n")
    return rest.starts_with("//") ? std::string(kObjectScheme) + std::string(rest.substr(2)) : given;
  std::string instead = "mount the store or copy it, and give the folder";
  bool known = rest.starts_with("//");
  rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
  for (const Schemes& one : kOthers) {
    if (one.names.find(" " + scheme + " ") == std::string_view::npos) continue;
    instead = fmt::format(fmt::runtime(one.instead), rest);
    known = true;
  }
  if (!known) return given;
  throw UsageError(fmt::format("{}: headrace reads folders, files and s3:// addresses: {}", given, instead));
}

bool is_pattern(std::string_view path) noexcept { return path.find_first_of(kSpecial) != path.npos; }

std::string folder_of_pattern(std::string_view pattern) {
  const std::size_t slash = pattern.substr(0, pattern.find_first_of(kSpecial)).rfind('/');
  return slash == pattern.npos ? "" : std::string(pattern.substr(0, std::max<std::size_t>(slash, 1)));
}

std::vector<std::string> spread_braces(const std::string& pattern) {
  std::vector<std::string> all, waiting{pattern};
  while (!waiting.empty()) {
    const std::string one = std::move(waiting.back());
    waiting.pop_back();
    std::vector<std::string> parts;
    if (!spread_first(one, parts)) {
      all.push_back(one);
    } else {
      waiting.insert(waiting.end(), parts.rbegin(), parts.rend());
    }
    if (all.size() + waiting.size() > kMost)
      throw UsageError(fmt::format("'{}' names more than {} files", pattern, kMost));
  }
  return all;
}

std::vector<std::string> paths_of_pattern(const std::string& pattern) {
  std::vector<std::string> paths, missing;
  std::set<std::string> seen;
  const auto add = [&](const std::string& path) {
    if (seen.insert(path).second) paths.push_back(path);
  };
  for (const std::string& one : spread_braces(pattern)) {
    if (exists(one))
      add(one);
    else if (one.find_first_of(kWildcards) == one.npos)
      missing.push_back(one);
    else
      for (const std::string& path : matches_of(one)) add(path);
  }
  if (!missing.empty() && !paths.empty())
    throw UsageError(fmt::format("{}: {} of {} files that it names are missing, {} first", pattern, missing.size(),
                                 missing.size() + paths.size(), missing.front()));
  return paths;
}

bool is_data_at(const std::string& path) {
  return exists(path) || (is_pattern(path) && !paths_of_pattern(path).empty());
}

std::filesystem::path place_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error),
                              place = std::filesystem::weakly_canonical(whole, error);
  return error ? whole.lexically_normal() : place;
}

std::set<std::filesystem::path> places_of_data(const std::string& path) {
  if (!is_pattern(path) || exists(path)) return {place_of(path)};
  std::set<std::string> named;
  std::error_code ignored;
  for (const std::string& one : paths_of_pattern(path))
    named.insert(std::filesystem::is_directory(one, ignored) ? one : std::filesystem::path(one).parent_path().string());
  std::set<std::filesystem::path> places;
  for (const std::string& one : named) places.insert(place_of(one.empty() ? "." : one));
  return places;
}

bool lies_in(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  const std::filesystem::path way = inner.lexically_relative(outer);
  return !way.empty() && *way.begin() != "..";
}

}  // namespace headrace
