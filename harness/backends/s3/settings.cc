#include "harness/backends/s3/settings.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <ctime>
#include <vector>

#include "harness/backends/s3/digest.h"
#include "harness/backends/s3/key_chain.h"
#include "harness/backends/s3/sessions.h"
#include "harness/base/error.h"

namespace headrace::s3 {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

using Section = std::map<std::string, std::string>;

std::string value_of(const Section& section, const std::string& key) {
  const auto found = section.find(key);
  return found == section.end() ? "" : found->second;
}

[[noreturn]] void refuse_character(const std::string& place, char c, const std::string& advice) {
  throw RunError(fmt::format("{}: a control character (0x{:02x}) is in it; {}", place,
                             static_cast<unsigned>(static_cast<unsigned char>(c)), advice));
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void refuse_control_characters(const char* name, std::string_view value) {
  for (std::size_t i = 0; i < value.size(); ++i)
    if (is_control(value[i]))
      refuse_character(fmt::format("{}, character {}", name, i + 1), value[i],
                       "give one line of text, without the end of a line as Windows writes it");
}

void refuse_control_characters_in_file(const std::string& path, std::string_view text) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    if (one.ends_with('\r')) one.remove_suffix(1);
    if (one.starts_with('#') || one.starts_with(';')) continue;
    for (std::size_t i = 0; i < one.size(); ++i)
      if (is_control(one[i]) && one[i] != '\t')
        refuse_character(fmt::format("{}:{}:{}", path, line, i + 1), one[i], "delete it");
  }
}

/// Host names at Amazon contain it, and so does the signed text.
void check_region(const std::string& region) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  if (region.find_first_not_of(kPlain) != region.npos)
    throw RunError(
        "AWS_REGION, or region in the profile, is no name of a region: letters, digits, '-', '_' and '.' are allowed");
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    const char* const end = text.data() + std::min(i + 3, text.size());
    if (c == '%' && std::from_chars(text.data() + i + 1, end, c, 16).ptr == text.data() + i + 3) i += 2;
    decoded += static_cast<char>(c);
  }
  return decoded;
}

/// Passwords in the proxies that libcurl takes from the environment, and the header that it makes of them.
void add_proxy_passwords(const std::function<std::optional<std::string>(const char*)>& variable,
                         std::vector<std::string>& secrets) {
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
    const std::string url = variable(name).value_or("");
    const std::size_t scheme = url.find("://"), begin = scheme == url.npos ? 0 : scheme + 3;
    const std::size_t end = url.rfind('@');
    if (end == url.npos || end < begin) continue;
    const std::string user = percent_decoded(std::string_view(url).substr(begin, end - begin));
    secrets.push_back(base64_of({reinterpret_cast<const unsigned char*>(user.data()), user.size()}));
    if (const std::size_t colon = user.find(':'); colon != user.npos) secrets.push_back(user.substr(colon + 1));
  }
}

void check_endpoint(std::string& endpoint) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (endpoint.empty()) return;
  for (std::size_t i = 0; i < endpoint.find("://") && i < endpoint.size(); ++i)
    if (endpoint[i] >= 'A' && endpoint[i] <= 'Z') endpoint[i] = static_cast<char>(endpoint[i] | 0x20);
  const bool known = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  const std::size_t host = endpoint.find("://") + 3;
  if (!known || host >= endpoint.size() || endpoint[host] == '/' ||
      endpoint.find_first_of("?#@ ", host) != std::string::npos)
    throw RunError("the endpoint of the object store is no URL of a host: AWS_ENDPOINT_URL=https://HOST[:PORT][/PATH]");
}

}  // namespace

Sections parse_sections(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the mark that some editors put before UTF-8
  Sections sections;
  Section* section = nullptr;
  std::string nested;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view reported = trimmed(line);
    if (reported.empty() || reported.front() == '#' || reported.front() == ';') continue;
    if (reported.front() == '[') {
      std::string_view name = trimmed(reported.substr(1, reported.find(']') - 1));
      if (name.starts_with("profile ")) name = trimmed(name.substr(8));
      section = &sections[std::string(name)];
      nested.clear();
      continue;
    }
    const std::size_t equals = reported.find('=');
    if (section == nullptr || equals == std::string_view::npos) continue;
    const std::string key(trimmed(reported.substr(0, equals))), value(trimmed(reported.substr(equals + 1)));
    const bool indented = kBlanks.find(line.front()) != std::string_view::npos;
    if (!indented) nested = value.empty() ? key + "." : "";
    (*section)[indented ? nested + key : key] = value;
  }
  return sections;
}

Settings read_settings(const KeyPlaces& places) {
  const auto& variable = places.variable;
  const auto& file = places.file;
  const auto first_of = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names)
      if (auto value = variable(name); value && !value->empty()) {
        refuse_control_characters(name, *value);
        return *value;
      }
    return "";
  };
  const std::string home = first_of({"HOME"});
  std::vector<std::string> files;
  const auto sections_of = [&](const char* name, const char* usual) {
    const std::string given = first_of({name});
    const std::string& path = files.emplace_back(given.empty() ? home + usual : given);
    const std::string text = file(path).value_or("");
    refuse_control_characters_in_file(path, text);
    return parse_sections(text);
  };
  const std::string asked = first_of({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  const std::string name = asked.empty() ? "default" : asked;
  const Sections keys = sections_of("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
  const Sections config = sections_of("AWS_CONFIG_FILE", "/.aws/config");
  Section profile;
  for (const Sections* part : {&keys, &config})
    if (const auto found = part->find(name); found != part->end())
      profile.insert(found->second.begin(), found->second.end());
  if (profile.empty() && !asked.empty())
    throw RunError(fmt::format("AWS_PROFILE names {}, and neither ~/.aws/credentials nor ~/.aws/config has it", asked));

  Settings settings;
  settings.sessions = std::make_shared<Sessions>(places.ask);
  settings.key_id = first_of({"AWS_ACCESS_KEY_ID"});
  settings.secret = first_of({"AWS_SECRET_ACCESS_KEY"});
  settings.token = first_of({"AWS_SESSION_TOKEN"});
  settings.source = "the environment";
  if (settings.key_id.empty() != settings.secret.empty())
    throw RunError(fmt::format(
        "{} has only one of the two keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together", settings.source));
  const auto set = [&](std::string& to, std::initializer_list<const char*> names, const char* key) {
    if (std::string value = first_of(names); !value.empty())
      to = std::move(value);
    else if (value = value_of(profile, key); !value.empty())
      to = std::move(value);
  };
  set(settings.region, {"AWS_REGION", "AWS_DEFAULT_REGION"}, "region");
  const std::string services = value_of(profile, "services");
  const auto service = config.find("services " + services);
  if (!services.empty() && service == config.end())
    throw RunError(fmt::format("profile {} names the services {}, and the configuration has no [services {}]", name,
                               services, services));
  std::string ignored = first_of({"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"});
  if (ignored.empty()) ignored = value_of(profile, "ignore_configured_endpoint_urls");
  // In the order of the SDKs; s3.endpoint_url of the profile itself is a plugin's of the command line.
  const auto endpoint_of = [&](const char* in_variables, const char* section) -> std::string {
    if (ignored == "true" || ignored == "True") return "";
    const std::string key = fmt::format("{}.endpoint_url", section);
    for (std::string one : {first_of({fmt::format("AWS_ENDPOINT_URL_{}", in_variables).c_str()}),
                            first_of({"AWS_ENDPOINT_URL"}), services.empty() ? "" : value_of(service->second, key),
                            value_of(profile, key), value_of(profile, "endpoint_url")})
      if (!one.empty()) {
        check_endpoint(one);
        return one;
      }
    return "";
  };
  settings.endpoint = endpoint_of("S3", "s3");
  set(settings.ca_bundle, {"AWS_CA_BUNDLE"}, "ca_bundle");
  if (settings.ca_bundle.empty()) settings.ca_bundle = first_of({"REQUESTS_CA_BUNDLE"});
  check_region(settings.region);
  if (!settings.is_signed()) {
    KeyConfig sources{.sections = config,
                      .profile = name,
                      .region = settings.region,
                      .home = home,
                      .files = files,
                      .sts = endpoint_of("STS", "sts"),
                      .sso = endpoint_of("SSO", "sso"),
                      .oidc = endpoint_of("SSO_OIDC", "sso_oidc"),
                      .ca_bundle = settings.ca_bundle};
    for (const auto& [section, values] : keys)
      for (const auto& [key, value] : values) sources.sections[section][key] = value;
    settings.take(key_source(sources, places));
  }
  std::vector<std::string> secrets{settings.key_id, settings.secret, settings.token};
  add_proxy_passwords(variable, secrets);
  settings.secrets = Secrets(secrets);
  const std::string style = value_of(profile, "s3.addressing_style");
  if (style == "path") settings.style = Style::path;
  if (style == "virtual") settings.style = Style::virtual_host;
  return settings;
}

void Settings::take(const std::optional<KeySource>& found) {
  if (!found) return;
  source = found->words;
  auto lent = std::make_shared<KeyRenewal>(found->words, found->fetch);
  try {
    const auto first = lent->current(std::time(nullptr));
    key_id = first->key_id;
    secret = first->secret;
    token = first->token;
    if (first->expires_s != 0) renewal = std::move(lent);
  } catch (const RunError& e) {
    if (!found->may_be_absent) throw;
    no_keys = e.what();
  }
}

Settings read_settings() { return read_settings(own_key_places()); }

}  // namespace headrace::s3
