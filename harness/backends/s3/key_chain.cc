#include "harness/backends/s3/key_chain.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/backends/s3/address.h"
#include "harness/backends/s3/answer.h"
#include "harness/backends/s3/digest.h"
#include "harness/backends/s3/signer.h"
#include "harness/base/error.h"

namespace headrace::s3 {
namespace {

using nlohmann::json;
using Section = std::map<std::string, std::string>;

constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr const char* kInstanceHost = "http://169.254.169.254";
constexpr const char* kInstanceHost6 = "http://[fd00:ec2::254]";
constexpr int kTries = 3;
constexpr double kMetadata_s = 2, kInstance_s = 1;
constexpr std::int64_t kLoginAhead_s = 900;  // as botocore

std::string value_in(const Section& section, const char* key) {
  const auto found = section.find(key);
  return found == section.end() ? "" : found->second;
}

std::string trimmed_text(std::string text) {
  constexpr const char* kBlanks = " \t\r\n";
  text.erase(text.find_last_not_of(kBlanks) + 1);
  return text.erase(0, std::min(text.find_first_not_of(kBlanks), text.size()));
}

/// "2026-01-31T12:00:00Z", perhaps with a fraction, or with an offset instead of Z; 0 = it is none.
std::int64_t unix_time_of(const std::string& text) {
  struct tm parts {};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return 0;
  std::int64_t offset_s = 0;
  const std::string_view zone(rest);
  if (const std::size_t sign = zone.find_last_of("+-"); sign != zone.npos) {
    int hours = 0, minutes = 0;
    const char* const end = zone.data() + zone.size();
    const auto [colon, error] = std::from_chars(zone.data() + sign + 1, end, hours);
    if (error == std::errc() && colon != end) std::from_chars(colon + 1, end, minutes);
    offset_s = (zone[sign] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
  }
  return ::timegm(&parts) - offset_s;
}

std::string text_of_time(std::int64_t unix_s) {
  const time_t when = unix_s;
  struct tm utc {};
  ::gmtime_r(&when, &utc);
  std::array<char, 32> text{};
  return {text.data(), ::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

struct KeyNames {
  const char *key_id, *secret, *token, *expires;
};

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Keys keys_in(const json& object, const KeyNames& names, const std::string& source) {
  Keys keys{text_in(object, names.key_id), text_in(object, names.secret), text_in(object, names.token), 0};
  if (const auto when = object.find(names.expires); when != object.end())
    keys.expires_s = when->is_string()            ? unix_time_of(when->get<std::string>())
                     : when->is_number_unsigned() ? static_cast<std::int64_t>(when->get<std::uint64_t>() / 1000)
                                                  : 0;
  for (const std::string* one : {&keys.key_id, &keys.secret, &keys.token})
    if (std::any_of(one->begin(), one->end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      throw RunError(source + ": its answer has a control character in a key");
  if (keys.key_id.empty() || keys.secret.empty())
    throw RunError(fmt::format("{}: its answer has no {} and {}", source, names.key_id, names.secret));
  return keys;
}

json object_of(const std::string& text, const std::string& source) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) throw RunError(source + ": its answer is no JSON object");
  return object;
}

constexpr KeyNames kMetadataNames{"AccessKeyId", "SecretAccessKey", "Token", "Expiration"};

class Chain {
 public:
  Chain(const KeyConfig& config, const KeyPlaces& places) : config_(config), places_(places) {}

  std::optional<KeySource> first() {
    if (auto source = of_profile(config_.profile, true)) return source;
    const std::string relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const std::string full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (!relative.empty() || !full.empty()) return container();
    if (variable("AWS_EC2_METADATA_DISABLED") == "true" || !is_instance()) return std::nullopt;
    return instance(true);
  }

 private:
  std::string variable(const char* name) const { return places_.variable(name).value_or(""); }
  const Section& profile(const std::string& name) const {
    static const Section kNone;
    const auto found = config_.sections.find(name);
    return found == config_.sections.end() ? kNone : found->second;
  }

  std::optional<KeySource> of_profile(const std::string& name, bool with_environment) {
    const Section& section = profile(name);
    const auto has = [&](const char* key) { return !value_in(section, key).empty(); };
    if (has("role_arn") && !has("web_identity_token_file") && (with_environment || !has("aws_access_key_id")))
      return role(name, section);
    if ((with_environment && !variable("AWS_WEB_IDENTITY_TOKEN_FILE").empty()) || has("web_identity_token_file"))
      return web_identity(name, section, with_environment);
    if (has("sso_account_id") || has("sso_role_name")) return sso(name, section);
    if (has("aws_access_key_id") || has("aws_secret_access_key")) {
      if (!has("aws_access_key_id") || !has("aws_secret_access_key"))
        throw RunError(
            fmt::format("profile {} has only one of the two keys: aws_access_key_id and aws_secret_access_key "
                        "go together",
                        name));
      const Keys keys{value_in(section, "aws_access_key_id"), value_in(section, "aws_secret_access_key"),
                      value_in(section, "aws_session_token"), 0};
      return KeySource{"profile " + name, [keys] { return keys; }};
    }
    if (has("credential_process")) return process(name, value_in(section, "credential_process"));
    return std::nullopt;
  }

  KeySource role(const std::string& name, const Section& section) {
    const std::string arn = value_in(section, "role_arn"), from = value_in(section, "source_profile"),
                      by = value_in(section, "credential_source");
    const std::string words = fmt::format("role {} of profile {}", arn, name);
    if (!value_in(section, "mfa_serial").empty())
      throw RunError(words +
                     " needs a code of an MFA device, for which headrace cannot ask: put keys in the environment, " +
                     export_command(name));
    if (from.empty() == by.empty())
      throw RunError(fmt::format("{} needs one of source_profile and credential_source, and has {}", words,
                                 from.empty() ? "neither" : "both"));
    visited_.insert(name);
    KeySource base = from.empty() ? of_place(by, words) : of_source_profile(from, name, words);
    std::string body = fmt::format("Action=AssumeRole&Version=2011-06-15&RoleArn={}&RoleSessionName={}", encoded(arn),
                                   encoded(session_name(value_in(section, "role_session_name"))));
    if (const std::string id = value_in(section, "external_id"); !id.empty()) body += "&ExternalId=" + encoded(id);
    if (const std::string time = value_in(section, "duration_seconds"); !time.empty())
      body += "&DurationSeconds=" + encoded(time);
    return {words,
            [self = *this, words, body, base = std::move(base)] { return self.assume(words, body, base.fetch()); }};
  }

  KeySource of_source_profile(const std::string& from, const std::string& name, const std::string& words) {
    if (!config_.sections.contains(from))
      throw RunError(fmt::format("{}: source_profile names {}, which is in neither of the files", words, from));
    const Section& section = profile(from);
    const bool has_keys = !value_in(section, "aws_access_key_id").empty();
    if (visited_.contains(from) && !has_keys)
      throw RunError(fmt::format("{}: the profiles {} and {} name each other as source_profile", words, name, from));
    if (auto source = of_profile(from, false)) return std::move(*source);
    throw RunError(fmt::format("{}: its source_profile {} has no keys", words, from));
  }

  KeySource of_place(const std::string& place, const std::string& words) {
    if (place == "Ec2InstanceMetadata") return instance(false);
    if (place == "EcsContainer") return container();
    if (place != "Environment")
      throw RunError(fmt::format("{}: credential_source is {}; allowed: Environment, Ec2InstanceMetadata, EcsContainer",
                                 words, place));
    const Keys keys{variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"), variable("AWS_SESSION_TOKEN"), 0};
    if (keys.key_id.empty() || keys.secret.empty())
      throw RunError(words +
                     ": credential_source is Environment, and AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set");
    return {"the environment", [keys] { return keys; }};
  }

  KeySource web_identity(const std::string& name, const Section& section, bool with_environment) const {
    const auto either = [&](const char* of_environment, const char* key) {
      const std::string value = with_environment ? variable(of_environment) : "";
      return value.empty() ? value_in(section, key) : value;
    };
    const std::string path = either("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file"),
                      arn = either("AWS_ROLE_ARN", "role_arn"),
                      session = session_name(either("AWS_ROLE_SESSION_NAME", "role_session_name"));
    const bool of_environment = with_environment && !variable("AWS_WEB_IDENTITY_TOKEN_FILE").empty();
    if (arn.empty())
      throw RunError(fmt::format("web identity of {}: the token's file is given, and no role: set {}",
                                 of_environment ? "AWS_WEB_IDENTITY_TOKEN_FILE" : "profile " + name,
                                 of_environment ? "AWS_ROLE_ARN" : "role_arn"));
    const std::string words = fmt::format("role {} by the web identity of {}", arn,
                                          of_environment ? "AWS_WEB_IDENTITY_TOKEN_FILE" : "profile " + name);
    return {
        words, [self = *this, words, path, arn, session] {
          const std::string token = self.token_file(path, words);
          const KeyAnswer answer = self.asked(
              {.url = self.sts_url(),
               .body = fmt::format("Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}&"
                                   "WebIdentityToken={}",
                                   encoded(arn), encoded(session), encoded(token)),
               .headers = {"Content-Type: application/x-www-form-urlencoded", "Accept: application/xml"}},
              words, {token});
          return keys_of_xml(answer.body, words);
        }};
  }

  KeySource sso(const std::string& name, const Section& section) const {
    const std::string session = value_in(section, "sso_session");
    const auto found = config_.sections.find("sso-session " + session);
    if (!session.empty() && found == config_.sections.end())
      throw RunError(fmt::format("profile {} names the sso-session {}, and the configuration has no [sso-session {}]",
                                 name, session, session));
    const auto either = [&](const char* key) {
      const std::string of_session = session.empty() ? "" : value_in(found->second, key);
      return of_session.empty() ? value_in(section, key) : of_session;
    };
    const std::string start = either("sso_start_url"), region = either("sso_region"),
                      account = value_in(section, "sso_account_id"), role = value_in(section, "sso_role_name");
    const std::string words = fmt::format("SSO of profile {}", name);
    using Needed = std::pair<const char*, std::string>;
    for (const auto& [key, value] : {Needed{"sso_start_url", start}, Needed{"sso_region", region},
                                     Needed{"sso_account_id", account}, Needed{"sso_role_name", role}})
      if (value.empty()) throw RunError(fmt::format("{}: {} is missing", words, key));
    check_region_name(region, words);
    const auto sha1 = hex_digest_of("SHA1", session.empty() ? start : session);
    if (!sha1) throw RunError(words + ": OpenSSL has no SHA-1, which names the file of the login");
    const std::string path = fmt::format("{}/.aws/sso/cache/{}.json", config_.home, *sha1);
    const Login login{.words = words,
                      .path = path,
                      .region = region,
                      .command = fmt::format("run `aws sso login --profile {}`", name),
                      .renews = !session.empty()};
    return {words, [self = *this, words, login, account, role, region] {
              const std::string token = self.token_of(login);
              std::string url = self.config_.sso;
              if (url.empty()) url = fmt::format("https://portal.sso.{}.amazonaws.com", region);
              const KeyAnswer answer =
                  self.asked({.url = fmt::format("{}/federation/credentials?role_name={}&account_id={}", url,
                                                 encoded(role), encoded(account)),
                              .headers = {"x-amz-sso_bearer_token: " + one_line(token, words)}},
                             words, {token}, login.command);
              const json object = object_of(answer.body, words);
              const auto lent = object.find("roleCredentials");
              return keys_in(lent != object.end() && lent->is_object() ? *lent : json::object(),
                             {"accessKeyId", "secretAccessKey", "sessionToken", "expiration"}, words);
            }};
  }

  /// What `aws sso login` left.
  struct Login {
    std::string words, path, region, command;
    bool renews = false;                                                     // as those of an sso-session alone do
    std::shared_ptr<json> renewed = std::make_shared<json>(json::object());  // kept where the file cannot be
  };
  static std::int64_t end_of(const json& login, const char* name = "expiresAt") {
    return unix_time_of(text_in(login, name));
  }

  std::string token_of(const Login& login) const {
    const auto text = places_.file(login.path);
    if (!text) throw RunError(fmt::format("{}: there is no login in {}: {}", login.words, login.path, login.command));
    json cache = object_of(*text, login.words + ", " + login.path);
    if (end_of(*login.renewed) > end_of(cache)) cache = *login.renewed;
    const std::int64_t now_s = ::time(nullptr);
    const bool can = !text_in(cache, "refreshToken").empty() && !text_in(cache, "clientId").empty() &&
                     !text_in(cache, "clientSecret").empty() && end_of(cache, "registrationExpiresAt") > now_s;
    if (login.renews && can && end_of(cache) - now_s < kLoginAhead_s) try {
        cache = renewed(cache, login, now_s);
        *login.renewed = cache;
        if (places_.save) places_.save(login.path, cache.dump());
      } catch (const RunError&) {
        if (end_of(cache) <= now_s) throw;  // else the old one serves until it ends
      }
    const std::string token = text_in(cache, "accessToken");
    if (token.empty() || end_of(cache) <= now_s)
      throw RunError(fmt::format("{}: the login in {} has expired: {}", login.words, login.path, login.command));
    return token;
  }

  json renewed(json cache, const Login& login, std::int64_t now_s) const {
    const std::string url =
        config_.oidc.empty() ? fmt::format("https://oidc.{}.amazonaws.com", login.region) : config_.oidc;
    const std::string secret = text_in(cache, "clientSecret"), token = text_in(cache, "refreshToken");
    const json body{{"grantType", "refresh_token"},
                    {"clientId", text_in(cache, "clientId")},
                    {"clientSecret", secret},
                    {"refreshToken", token}};
    const KeyAnswer answer =
        asked({.url = url + "/token", .body = body.dump(), .headers = {"Content-Type: application/json"}},
              login.words + " (the login has expired)", {secret, token}, login.command);
    const json fresh = object_of(answer.body, login.words);
    const auto life = fresh.find("expiresIn");
    if (text_in(fresh, "accessToken").empty() || life == fresh.end() || !life->is_number_unsigned())
      throw RunError(fmt::format("{}: {} gives no accessToken with expiresIn: {}", login.words, url, login.command));
    cache["accessToken"] = fresh["accessToken"];
    cache["expiresAt"] = text_of_time(now_s + life->get<std::int64_t>());
    if (!text_in(fresh, "refreshToken").empty()) cache["refreshToken"] = fresh["refreshToken"];
    return cache;
  }

  KeySource process(const std::string& name, const std::string& command) const {
    const std::string words = fmt::format("credential_process of profile {}", name);
    for (const std::string& file : config_.files)
      if (const std::string why = places_.other_writer(file); !why.empty())
        throw RunError(fmt::format("{} is not run: {}. Make the file your own, with chmod 600", words, why));
    return {words, [run = places_.run, words, command] {
              std::string text;
              try {
                text = run(command);
              } catch (const RunError& e) {
                throw RunError(fmt::format("{}: {}", words, e.what()));
              }
              const json object = object_of(text, words);
              if (const auto version = object.find("Version"); version == object.end() || *version != 1)
                throw RunError(words + ": its answer has no \"Version\": 1");
              return keys_in(object, {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}, words);
            }};
  }

  KeySource container() const {
    const std::string relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const std::string full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const std::string words =
        fmt::format("the container's role of AWS_CONTAINER_CREDENTIALS_{}_URI", relative.empty() ? "FULL" : "RELATIVE");
    if (relative.empty() && full.empty())
      throw RunError(
          "credential_source is EcsContainer, and neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor "
          "AWS_CONTAINER_CREDENTIALS_FULL_URI is set");
    const std::string url = relative.empty() ? full : kContainerHost + relative;
    require_safe(url, words);
    return {words, [self = *this, words, url] {
              KeyRequest request{.url = url, .timeout_s = kMetadata_s, .no_proxy = url.starts_with("http://")};
              std::string token = self.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
              if (const std::string path = self.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !path.empty())
                token = self.token_file(path, words);
              if (!token.empty()) request.headers.push_back("Authorization: " + one_line(token, words));
              return keys_in(object_of(self.asked(request, words, {token}).body, words), kMetadataNames, words);
            }};
  }

  /// Keys that another host could read on the way are not fetched, as in the SDKs.
  static void require_safe(const std::string& url, const std::string& words) {
    if (url.starts_with("https://")) return;
    std::string host = url.starts_with("http://") ? url.substr(7) : "";
    host = host.substr(0, host.find_first_of("/?#"));
    if (host.find('@') != host.npos) host.clear();
    if (const std::size_t end = host.starts_with('[') ? host.find(']') + 1 : host.find(':'); end < host.size())
      host.resize(end);
    const bool loopback = host == "localhost" || host == "[::1]" ||
                          (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
    if (!loopback && host != "169.254.170.2" && host != "169.254.170.23" && host != "[fd00:ec2::23]")
      throw RunError(
          fmt::format("{}: {} is neither https:// nor on this host: SDKs do not ask there either", words, url));
  }

  /// Does this machine look like one of EC2? Others would wait for an unused address.
  bool is_instance() const {
    if (!variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").empty()) return true;
    for (const char* path : {"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/bios_version"}) {
      const std::string text = places_.file(path).value_or("");
      if (text.starts_with("Amazon EC2") || text.find(".amazon") != text.npos) return true;
    }
    return false;
  }

  KeySource instance(bool may_be_absent) const {
    const std::string words = "the instance's role by its metadata service";
    return {words,
            [self = *this, words] {
              std::string host = self.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
              while (host.ends_with('/')) host.pop_back();
              if (host.empty())
                host =
                    self.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE") == "IPv6" ? kInstanceHost6 : kInstanceHost;
              const std::string roles = host + "/latest/meta-data/iam/security-credentials/";
              KeyRequest request{.url = host + "/latest/api/token",
                                 .headers = {"x-aws-ec2-metadata-token-ttl-seconds: 21600"},
                                 .timeout_s = kInstance_s,
                                 .put = true,
                                 .no_proxy = true};
              const KeyAnswer token = self.places_.ask(request);
              if (token.status == 0) throw RunError(fmt::format("{}: {}: {}", words, host, token.body));
              request.put = false;
              request.headers.clear();
              if (token.status == 200)
                request.headers.push_back("x-aws-ec2-metadata-token: " + one_line(trimmed_text(token.body), words));
              request.url = roles;
              const std::string role = trimmed_text(self.asked(request, words, {token.body}).body);
              request.url = roles + encoded(role.substr(0, role.find('\n')));
              const json object = object_of(self.asked(request, words, {token.body}).body, words);
              if (const std::string code = text_in(object, "Code"); !code.empty() && code != "Success")
                throw RunError(fmt::format("{}: it answered {} ({})", words, code, text_in(object, "Message")));
              return keys_in(object, kMetadataNames, words);
            },
            may_be_absent};
  }

  Keys assume(const std::string& words, const std::string& body, const Keys& base) const {
    const std::string url = sts_url();
    const auto hash = hex_digest_of("SHA256", body);
    if (!hash) throw RunError("OpenSSL has no SHA-256: requests cannot be signed");
    std::string host = url.substr(url.find("://") + 3);
    const std::size_t slash = std::min(host.find('/'), host.size());
    const std::string path = slash < host.size() ? host.substr(slash) : "/";
    host.resize(slash);
    Signer signer({base.key_id, base.secret, base.token, 0}, config_.region, "sts");
    signer.set_time(::time(nullptr));
    std::vector<std::string> headers{
        fmt::format("Authorization: {}",
                    signer.authorization({.method = "POST", .host = host, .path = path, .payload_hash = *hash})),
        fmt::format("x-amz-date: {}", signer.date()), "x-amz-content-sha256: " + *hash,
        "Content-Type: application/x-www-form-urlencoded"};
    if (!base.token.empty()) headers.push_back("x-amz-security-token: " + base.token);
    return keys_of_xml(
        asked({.url = url, .body = body, .headers = std::move(headers)}, words, {base.key_id, base.secret, base.token})
            .body,
        words);
  }

  std::string sts_url() const {
    std::string url = config_.sts;
    if (url.empty())
      url =
          fmt::format("https://sts.{}.amazonaws.com{}", config_.region, config_.region.starts_with("cn-") ? ".cn" : "");
    return url.find('/', url.find("://") + 3) == url.npos ? url + "/" : url;
  }

  /// The answer of a request that succeeded. Temporary failures are asked for again.
  KeyAnswer asked(KeyRequest request, const std::string& words, const std::vector<std::string>& secrets,
                  const std::string& advice = "") const {
    request.ca_bundle = config_.ca_bundle;
    KeyAnswer answer;
    for (int i = 0; i < kTries; ++i) {
      answer = places_.ask(request);
      if (answer.status != 0 && answer.status != 429 && answer.status < 500) break;
    }
    if (answer.status == 200) return answer;
    const std::string place = request.url.substr(0, request.url.find('?'));
    std::string said = answer.body;
    if (answer.status != 0) {
      const json object = json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
      const std::string code(element(answer.body, "Code")), message(element(answer.body, "Message"));
      said = fmt::format("{}", answer.status);
      if (!code.empty()) said += fmt::format(" {} ({})", code, message);
      for (const char* name : {"code", "Code", "message", "Message", "error", "error_description"})
        if (object.is_object() && !text_in(object, name).empty()) said += " " + text_in(object, name);
      if (answer.status == 404 && place.ends_with("/security-credentials/")) said += ": the instance has no role";
    }
    throw RunError(fmt::format("{}: {} answered: {}{}", words, place, Secrets(secrets).struck_out(said),
                               advice.empty() ? "" : "; " + advice));
  }

  std::string token_file(const std::string& path, const std::string& words) const {
    const auto text = places_.file(path);
    if (!text) throw RunError(fmt::format("{}: the token's file {} cannot be read", words, path));
    const std::string token = trimmed_text(*text);
    if (token.empty()) throw RunError(fmt::format("{}: the token's file {} is empty", words, path));
    return token;
  }

  static std::string one_line(const std::string& text, const std::string& words) {
    if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      throw RunError(words + ": the token has a control character");
    return text;
  }
  static void check_region_name(const std::string& region, const std::string& words) {
    if (region.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != region.npos)
      throw RunError(words + ": sso_region is no name of a region");
  }
  static std::string encoded(const std::string& text) {
    std::string to;
    append_encoded(to, text, false);
    return to;
  }
  static std::string session_name(const std::string& given) {
    return given.empty() ? fmt::format("headrace-{}", ::time(nullptr)) : given;
  }
  static std::string export_command(const std::string& name) {
    return fmt::format("as `aws configure export-credentials --profile {} --format env` prints them", name);
  }

  KeyConfig config_;
  KeyPlaces places_;
  std::set<std::string> visited_;
};

}  // namespace

Keys keys_of_xml(const std::string& body, const std::string& words) {
  json object;
  for (const char* name : {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"})
    object[name] = std::string(element(body, name));
  return keys_in(object, {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}, words);
}

std::optional<KeySource> key_source(const KeyConfig& config, const KeyPlaces& places) {
  return Chain(config, places).first();
}

}  // namespace headrace::s3
