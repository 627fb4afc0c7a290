#include "harness/backends/s3/address.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/backends/s3/sessions.h"
#include "harness/base/error.h"
#include "harness/base/object_path.h"

namespace headrace::s3 {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

/// Can it be part of a host's name, and of one that AWS's certificates cover?
bool is_label(const std::string& bucket) {
  return bucket.size() >= 3 && bucket.size() <= 63 && bucket.front() != '-' && bucket.back() != '-' &&
         std::all_of(bucket.begin(), bucket.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

ObjectUrl parse_url(std::string_view url) {
  if (!is_object_path(url)) throw RunError(fmt::format("{} is no s3://bucket/prefix", url));
  const std::string_view rest = url.substr(kObjectScheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  ObjectUrl parsed{std::string(rest.substr(0, slash)), std::string(rest.substr(std::min(slash + 1, rest.size())))};
  if (parsed.bucket.empty()) throw RunError(fmt::format("{} names no bucket: s3://bucket/prefix", url));
  while (parsed.prefix.ends_with('/')) parsed.prefix.pop_back();
  return parsed;
}

void append_encoded(std::string& to, std::string_view text, bool path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_plain(c) || (path && c == '/')) {
      to += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    to += '%';
    to += kDigits[byte >> 4];
    to += kDigits[byte & 15];
  }
}

Address::Address(const Settings& settings, const std::string& bucket) {
  std::string scheme = "https", host = fmt::format("s3.{}.amazonaws.com", settings.region);
  if (settings.region.starts_with("cn-")) host += ".cn";
  const std::string_view zone = zone_of(bucket);
  if (!zone.empty()) host = fmt::format("s3express-{}.{}.amazonaws.com", zone, settings.region);
  const bool own = !settings.endpoint.empty();
  std::string path = "/";
  if (own) {
    const std::size_t colon = settings.endpoint.find("://");
    scheme = settings.endpoint.substr(0, colon);
    host = settings.endpoint.substr(colon + 3);
    if (const std::size_t slash = host.find('/'); slash != host.npos) {
      path = host.substr(slash) + "/";
      host.resize(slash);
    }
  }
  virtual_host_ = settings.style == Style::virtual_host ||
                  (!own && is_label(bucket) && (settings.style == Style::automatic || !zone.empty()));
  // The default port is in no header, and so is not signed.
  const std::string usual = scheme == "https" ? ":443" : ":80";
  if (host.ends_with(usual)) host.resize(host.size() - usual.size());
  host_ = virtual_host_ ? bucket + "." + host : host;
  origin_ = scheme + "://" + host_;
  base_ = path;
  if (virtual_host_) return;
  append_encoded(base_, bucket, false);
  base_ += '/';
}

}  // namespace headrace::s3
