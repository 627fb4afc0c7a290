#include "harness/base/data_path.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
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
    const std::size_t dots = parts[0].find("..");
    std::uint64_t first = 0, last = 0;
    const char* const text = parts[0].data();
    const char* const stop = text + parts[0].size();
    if (dots == std::string::npos || std::from_chars(text, text + dots, first).ptr != text + dots ||
        std::from_chars(text + dots + 2, stop, last).ptr != stop || last < first)
      return false;
    if (last - first >= kMost) throw UsageError(fmt::format("'{}' names more than {} files", pattern, kMost));
    const std::size_t width = dots;
    parts.clear();
    for (std::uint64_t number = first; number <= last; ++number) parts.push_back(fmt::format("{:0{}}", number, width));
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
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

std::string data_path(const std::string& given) {
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

}  // namespace headrace
