#include "harness/backends/s3/sessions.h"

#include <fmt/format.h>

#include <ctime>
#include <vector>

#include "harness/backends/s3/address.h"
#include "harness/backends/s3/answer.h"
#include "harness/backends/s3/digest.h"
#include "harness/backends/s3/signer.h"
#include "harness/base/error.h"

namespace headrace::s3 {
namespace {

constexpr int kSessionTries = 3;

KeyRequest session_request(const Address& address, const Keys& keys, const Settings& settings, const char* mode) {
  const auto hash = hex_digest_of("SHA256", "");
  if (!hash) throw RunError("OpenSSL has no SHA-256: requests cannot be signed");
  std::string path = address.base();
  if (path.size() > 1) path.pop_back();  // the bucket itself
  Signer signer(keys, settings.region, kExpressService);
  signer.set_time(std::time(nullptr));
  KeyRequest request{.url = address.origin() + path + "?session=", .ca_bundle = settings.ca_bundle};
  request.headers = {fmt::format("Authorization: {}", signer.authorization({.method = "GET",
                                                                            .host = address.host(),
                                                                            .path = path,
                                                                            .query = "session=",
                                                                            .payload_hash = *hash,
                                                                            .session_mode = mode})),
                     fmt::format("x-amz-date: {}", signer.date()), "x-amz-content-sha256: " + *hash,
                     fmt::format("x-amz-create-session-mode: {}", mode)};
  if (!keys.token.empty()) request.headers.push_back("x-amz-security-token: " + keys.token);
  return request;
}

Keys open_session(const std::function<KeyAnswer(const KeyRequest&)>& ask, const Settings& settings,
                  const std::string& bucket) {
  const std::string words = fmt::format("open a session of s3://{}", bucket);
  const Address address(settings, bucket);
  Keys keys{settings.key_id, settings.secret, settings.token, 0};
  if (settings.renewal) keys = *settings.renewal->current(std::time(nullptr));
  const char* mode = "ReadWrite";
  KeyAnswer answer;
  for (int i = 0; i < kSessionTries; ++i) {
    answer = ask(session_request(address, keys, settings, mode));
    if (answer.status == 200) return keys_of_xml(answer.body, words);
    if (answer.status == 403)
      mode = "ReadOnly";
    else if (answer.status != 0 && answer.status != 429 && answer.status < 500)
      break;
  }
  std::string said = answer.body;
  if (answer.status != 0)
    said = fmt::format("{} {} ({})", answer.status, element(answer.body, "Code"), element(answer.body, "Message"));
  if (answer.status == 403) said += "; the keys need s3express:CreateSession";
  throw RunError(fmt::format("{}: {} answered: {}", words, address.origin(),
                             Secrets({keys.key_id, keys.secret, keys.token}).struck_out(said)));
}

}  // namespace

std::string_view zone_of(std::string_view bucket) noexcept {
  constexpr std::string_view kEnd = "--x-s3", kBefore = "--";
  if (!bucket.ends_with(kEnd)) return {};
  bucket.remove_suffix(kEnd.size());
  const std::size_t at = bucket.rfind(kBefore);
  return at == bucket.npos || at == 0 ? std::string_view{} : bucket.substr(at + kBefore.size());
}

std::shared_ptr<KeyRenewal> Sessions::of(const Settings& settings, const std::string& bucket) {
  if (!settings.is_signed() || zone_of(bucket).empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<KeyRenewal>& session = buckets_[bucket];
  if (session) return session;
  Settings own = settings;
  own.sessions.reset();  // which hold this one
  session = std::make_shared<KeyRenewal>("the session of s3://" + bucket, [ask = ask_, own = std::move(own), bucket] {
    return open_session(ask, own, bucket);
  });
  return session;
}

std::string Sessions::struck_out(std::string words) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [bucket, session] : buckets_) words = session->struck_out(words);
  return words;
}

}  // namespace headrace::s3
