// The SDKs' places for keys other than variables and files: roles, web identities, SSO, processes, containers and
// instances. Source: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html; the order is
// botocore's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/s3/key_renewal.h"
#include "harness/backends/s3/settings.h"

namespace headrace::s3 {

/// One request for keys; body "" = GET, unless `put`.
struct KeyRequest {
  std::string url, body{};
  std::vector<std::string> headers{};  // "name: value"
  std::string ca_bundle{};
  double timeout_s = 10;
  bool put = false, no_proxy = false;
};
struct KeyAnswer {
  int status = 0;      // of HTTP; 0 = none came
  std::string body{};  // or libcurl's words if none came
};

/// The sources of the chain; tests replace them.
struct KeyPlaces {
  std::function<std::optional<std::string>(const char*)> variable;
  std::function<std::optional<std::string>(const std::string&)> file;
  std::function<KeyAnswer(const KeyRequest&)> ask;
  /// Who else can write a file or replace it, as a clause with the path. "" = no other user, or no file.
  std::function<std::string(const std::string&)> other_writer;
  /// Standard output of a shell command. Throws RunError.
  std::function<std::string(const std::string&)> run;
  /// Replaces the text of the user's own file, if that is possible.
  std::function<void(const std::string& path, const std::string& text)> save = {};
};
/// Keys in an answer as STS and S3 give them. Throws RunError, which begins with `words`.
Keys keys_of_xml(const std::string& body, const std::string& words);

/// The places of this process.
KeyPlaces own_key_places();

/// Values of the configuration that the chain needs.
struct KeyConfig {
  Sections sections;    // of ~/.aws/config, with the profiles of ~/.aws/credentials over them
  std::string profile;  // that counts
  std::string region;
  std::string home;
  std::vector<std::string> files;  // that the sections were read from
  std::string sts, sso, oidc;      // their endpoints; "" = Amazon's
  std::string ca_bundle;           // as in Settings
};

struct KeySource {
  std::string words;  // "role arn:aws:iam::1:role/x of profile far"
  std::function<Keys()> fetch;
  bool may_be_absent = false;  // not configured by the user: without an answer requests are not signed
};

/// The first source that is configured after the keys of the environment; keys in the files are a source, too. None: there
/// are no keys. Throws RunError if the configuration contradicts itself.
std::optional<KeySource> key_source(const KeyConfig& config, const KeyPlaces& places);

}  // namespace headrace::s3
