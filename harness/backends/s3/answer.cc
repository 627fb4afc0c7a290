#include "harness/backends/s3/answer.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/backends/s3/key_renewal.h"
#include "harness/backends/s3/sessions.h"

namespace headrace::s3 {
namespace {

bool is_one_of(std::string_view code, std::initializer_list<std::string_view> codes) noexcept {
  for (const std::string_view known : codes)
    if (code == known) return true;
  return false;
}

std::string connection_advice(const Answer& answer, const Settings& settings, const Address& address) {
  if (answer.is_refused_by_proxy())
    return fmt::format("the proxy answered {} and blocks access to {}: check {} and no_proxy", answer.tunnel_status,
                       address.origin(),
                       answer.tunnel_status == 407 ? "the user and the password in https_proxy" : "https_proxy");
  switch (answer.transport) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return fmt::format("no address is known for the host {}: {}", address.host(),
                         settings.endpoint.empty()
                             ? "is there a way to the internet, and is AWS_REGION right? Another store "
                               "than Amazon's is named by AWS_ENDPOINT_URL"
                             : "look at AWS_ENDPOINT_URL and at the resolver");
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "no address is known for the proxy: look at http_proxy, https_proxy and no_proxy";
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
      return fmt::format(
          "nothing answers at {}: look at AWS_ENDPOINT_URL, and whether a firewall or a proxy is between",
          address.origin());
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return "the server's certificate is not trusted here: AWS_CA_BUNDLE names the file of the authority that signed "
             "it";
    case CURLE_SSL_CONNECT_ERROR:
      return "TLS could not be agreed on: is it an http:// endpoint that was given as https://?";
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return "what answers there does not speak HTTP: look at AWS_ENDPOINT_URL";
    case CURLE_PARTIAL_FILE:
      return "the connection ended before the whole body came";
    case CURLE_ABORTED_BY_CALLBACK:
      return fmt::format("{} had not answered when headrace was asked to stop", address.origin());
    default:
      return "";
  }
}

/// Advice for requests that write; "" = nothing of its own.
std::string writing_advice(const Answer& answer) {
  const std::string_view code = answer.code();
  if (answer.status == 507 || is_one_of(code, {"InsufficientStorage", "QuotaExceeded", "XMinioStorageFull",
                                               "StorageFull", "EntityQuotaExceeded"}))
    return "the store is full, or its quota used up: make room there, or write less (shard_size, files, --max-write)";
  if (is_one_of(code, {"BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"}))
    return "the data arrived damaged: a proxy or a NIC on the path changes bytes";
  if (code == "EntityTooSmall") return "the store wants larger parts: give a larger block_size";
  if (code == "EntityTooLarge" || answer.status == 413)
    return "the store, or a proxy before it, takes no body so large: give a smaller block_size";
  if (code == "NoSuchUpload") return "the upload is gone: it was aborted, perhaps by a lifecycle rule of the bucket";
  if (code == "InvalidPart") return "the store has lost a part that it had taken";
  if (answer.status == 405 || answer.status == 501)
    return "the store does not take this: is it read-only, or without multipart uploads? One part is sent as a whole "
           "object: block_size not below the shard's size";
  return "";
}

std::string advice(const Answer& answer, const Settings& settings, const Address& address, Doing doing) {
  const std::string_view code = answer.code();
  const std::string_view reported_region = element(answer.error.view(), "Region");
  const std::string_view region = answer.region.empty() ? reported_region : answer.region.view();
  if (is_one_of(code, {"InvalidAccessKeyId", "SignatureDoesNotMatch"}))
    return fmt::format(
        "the keys of {} are not this store's: look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
        "AWS_PROFILE",
        settings.source);
  if (is_one_of(code, {"ExpiredToken", "InvalidToken", "TokenRefreshRequired"}))
    return "the session token is not valid any more: get new keys";
  if (code == "RequestTimeTooSkewed")
    return fmt::format("this machine's clock is not the server's, which says {}: set it (chronyc makestep)",
                       answer.date.view());
  if (is_one_of(code, {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}) ||
      answer.status == 301 || answer.status == 307)
    return region.empty()
               ? std::string(
                     "the bucket is in another region or at another endpoint: look at AWS_REGION and "
                     "AWS_ENDPOINT_URL")
               : fmt::format("the bucket is in {}, and {} was asked: AWS_REGION={}", region, settings.region, region);
  if (code == "NoSuchBucket") return "there is no such bucket: look at its name, and at AWS_ENDPOINT_URL";
  if (code == "NoSuchKey") return "the object is not there, or not any more";
  if (code == "InvalidObjectState") return "the object is archived: restore it first";
  if (answer.is_throttled()) return "the store throttles: it asks for fewer requests";
  if (answer.status == 407) return "the proxy wants to know who asks: look at https_proxy";
  if (std::string words = doing == Doing::writing ? writing_advice(answer) : ""; !words.empty()) return words;
  if (answer.status == 401 || answer.status == 403)
    return settings.is_signed()
               ? fmt::format("the keys of {} may not do this: {} are needed", settings.source,
                             doing == Doing::reading ? "s3:ListBucket and s3:GetObject"
                                                     : "s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject, "
                                                       "s3:AbortMultipartUpload and s3:ListBucketMultipartUploads")
               : fmt::format(
                     "no keys were found, so it was asked without: set AWS_ACCESS_KEY_ID and "
                     "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE{}{}",
                     settings.no_keys.empty() ? "" : "; ", settings.no_keys);
  if (answer.error.view().find("<Error>") == std::string_view::npos)
    return fmt::format("{} answers, and not as an S3 store does: look at AWS_ENDPOINT_URL", address.origin());
  return "";
}

}  // namespace

std::string without_secrets(std::string_view words, const Settings& settings) {
  std::string clean = settings.secrets.struck_out(words);
  if (settings.renewal) clean = settings.renewal->struck_out(clean);
  if (settings.sessions) clean = settings.sessions->struck_out(std::move(clean));
  return signatures_struck_out(clean);
}

void Answer::clear() noexcept {
  status = transport = tunnel_status = system_error = 0;
  version = 0;
  sealed = false;
  etag.clear();
  region.clear();
  date.clear();
  server.clear();
  transport_text.clear();
  error.clear();
}

bool Answer::is_throttled() const noexcept {
  if (transport != 0) return false;
  return status == 429 || (status == 503 && code() != "InternalError") ||
         is_one_of(code(), {"SlowDown", "RequestLimitExceeded", "TooManyRequests", "Throttling"});
}

bool Answer::is_passing() const noexcept {
  if (is_refused_by_proxy() && tunnel_status < 500) return false;
  switch (transport) {
    case CURLE_OK:
      break;
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_OPERATION_TIMEDOUT:
      return true;
    default:
      return false;
  }
  return is_throttled() || status == 500 || status == 502 || status == 504 || code() == "RequestTimeout";
}

std::string_view Answer::code() const noexcept { return element(error.view(), "Code"); }
std::string_view Answer::message() const noexcept { return element(error.view(), "Message"); }

std::uint64_t version_of(std::string_view etag) noexcept {
  if (etag.empty()) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : etag) {
    if (c == '"') continue;
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash == 0 ? 1 : hash;
}

std::string words_of(const Answer& answer) {
  if (answer.transport == CURLE_ABORTED_BY_CALLBACK) return "given up";  // by us: libcurl has no words for that
  if (answer.transport != 0) {
    std::string words(answer.transport_text.view());
    if (words.empty()) words = curl_easy_strerror(static_cast<CURLcode>(answer.transport));
    if (answer.system_error != 0) words += fmt::format(" ({})", std::strerror(answer.system_error));
    return words;
  }
  std::string words = fmt::format("{}", answer.status);
  if (!answer.code().empty()) words += fmt::format(" {}", answer.code());
  if (!answer.message().empty()) words += fmt::format(" ({})", answer.message());
  return words;
}

std::string_view element(std::string_view text, std::string_view name) noexcept {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; ++at) {
    if (at == 0 || text[at - 1] != '<' || at + name.size() >= text.size() || text[at + name.size()] != '>') continue;
    const std::string_view rest = text.substr(at + name.size() + 1);
    const std::size_t end = rest.find('<');
    return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
  }
  return {};
}

std::string describe(const std::string& what, const Answer& answer, const Settings& settings, const Address& address,
                     Doing doing) {
  const std::string more =
      answer.transport != 0 ? connection_advice(answer, settings, address) : advice(answer, settings, address, doing);
  const std::string who = answer.transport != 0 ? "" : "the server answered ";
  const std::string words = who + words_of(answer) + (more.empty() ? "" : ": " + more);
  return what + ": " + without_secrets(words, settings);
}

}  // namespace headrace::s3
