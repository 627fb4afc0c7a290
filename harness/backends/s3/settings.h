// The client's identity, endpoint and options: from the environment and the files that AWS's own tools read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/secrets.h"

namespace headrace::s3 {

class KeyRenewal;
class Sessions;
struct KeyPlaces;
struct KeySource;

enum class Style { automatic, path, virtual_host };

/// Never written anywhere: it holds a secret.
struct Settings {
  std::string key_id, secret, token;  // "" = requests are not signed
  std::string region = "us-east-1";
  std::string endpoint;  // "http://127.0.0.1:8333", perhaps with a path, without '/' at its end; "" = Amazon's
  std::string ca_bundle;
  Style style = Style::automatic;
  std::string source;                   // of the keys: "the environment", "profile default"
  std::string no_keys;                  // the answer of a source that the user did not configure
  Secrets secrets;                      // the keys, the token, and passwords of proxies
  std::shared_ptr<KeyRenewal> renewal;  // of keys that expire; nullptr = they do not
  std::shared_ptr<Sessions> sessions;   // of directory buckets

  bool is_signed() const { return !key_id.empty(); }
  /// Fetches the first keys. Throws RunError if a configured source has none.
  void take(const std::optional<KeySource>& found);
};

/// Keys of each section, "profile x" and "x" alike; those of a nested one ("s3 =") as "s3.key".
using Sections = std::map<std::string, std::map<std::string, std::string>>;
Sections parse_sections(std::string_view text);

/// Throws RunError that names the missing part and never a value. Half a pair of keys, a missing profile, a source
/// without keys, a bad endpoint, a bad region. Control characters, which could end a header of HTTP, are refused with
/// the variable, or the file, line and column.
Settings read_settings(const KeyPlaces& places);
/// The settings of this process.
Settings read_settings();

}  // namespace headrace::s3
