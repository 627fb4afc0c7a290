#include "harness/backends/s3/signer.h"

#include <openssl/evp.h>
#include <time.h>

#include <cstdio>

#include "harness/base/error.h"

namespace headrace::s3 {
namespace {

constexpr std::string_view kEmptyBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string_view as_text(const Sha256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

void append_hex(std::string& to, const Sha256& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const unsigned char byte : hash) {
    to += kDigits[byte >> 4];
    to += kDigits[byte & 15];
  }
}

}  // namespace

Signer::Signer(Keys keys, std::string region, std::string service, std::string token_name)
    : keys_(std::move(keys)),
      region_(std::move(region)),
      service_(std::move(service)),
      token_name_(std::move(token_name)),
      context_(EVP_MD_CTX_new()),
      sha256_(EVP_MD_fetch(nullptr, "SHA256", nullptr)) {
  if (context_ != nullptr && sha256_ != nullptr) return;
  EVP_MD_CTX_free(context_);
  EVP_MD_free(sha256_);
  throw RunError("OpenSSL has no SHA-256: requests to an object store cannot be signed");
}

Signer::~Signer() {
  EVP_MD_CTX_free(context_);
  EVP_MD_free(sha256_);
}

Sha256 Signer::hash(std::string_view first, std::string_view second) {
  Sha256 result{};
  EVP_DigestInit_ex2(context_, sha256_, nullptr);
  EVP_DigestUpdate(context_, first.data(), first.size());
  EVP_DigestUpdate(context_, second.data(), second.size());
  EVP_DigestFinal_ex(context_, result.data(), nullptr);
  return result;
}

Signer::Key Signer::key_of(std::span<const unsigned char> bytes) {
  Key key;
  Sha256 shorter{};
  if (bytes.size() > key.inner.size()) {
    shorter = hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "");
    bytes = shorter;
  }
  for (std::size_t i = 0; i < key.inner.size(); ++i) {
    const unsigned char byte = i < bytes.size() ? bytes[i] : 0;
    key.inner[i] = byte ^ 0x36;
    key.outer[i] = byte ^ 0x5c;
  }
  return key;
}

Sha256 Signer::hmac(const Key& key, std::string_view text) {
  const auto block = [](const auto& bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const Sha256 inside = hash(block(key.inner), text);
  return hash(block(key.outer), as_text(inside));
}

void Signer::take(Keys keys) {
  keys_ = std::move(keys);
  day_.clear();
  unix_s_ = -1;
}

void Signer::set_time(std::int64_t unix_s) {
  if (unix_s == unix_s_) return;
  unix_s_ = unix_s;
  const time_t when = unix_s;
  struct tm utc {};
  ::gmtime_r(&when, &utc);
  ::strftime(date_.data(), date_.size(), "%Y%m%dT%H%M%SZ", &utc);
  const std::string_view day(date_.data(), 8);
  if (day == day_) return;
  day_ = day;
  scope_ = day_ + "/" + region_ + "/" + service_ + "/aws4_request";
  const std::string first = "AWS4" + keys_.secret;
  Sha256 key = hmac(key_of({reinterpret_cast<const unsigned char*>(first.data()), first.size()}), day_);
  for (const std::string_view part :
       {std::string_view(region_), std::string_view(service_), std::string_view("aws4_request")})
    key = hmac(key_of(key), part);
  day_key_ = key_of(key);
}

std::string_view Signer::authorization(const Request& request) {
  const bool has_hash = !request.payload_hash.empty();
  text_.clear();
  text_.append(request.method).append("\n").append(request.path).append("\n").append(request.query).append("\n");
  if (!request.content_md5.empty()) text_.append("content-md5:").append(request.content_md5).append("\n");
  text_.append("host:").append(request.host).append("\n");
  if (has_hash) text_.append("x-amz-content-sha256:").append(request.payload_hash).append("\n");
  if (!request.session_mode.empty())
    text_.append("x-amz-create-session-mode:").append(request.session_mode).append("\n");
  text_.append("x-amz-date:").append(date()).append("\n");
  if (!keys_.token.empty()) text_.append(token_name_).append(":").append(keys_.token).append("\n");
  signed_headers_ = request.content_md5.empty() ? "host" : "content-md5;host";
  if (has_hash) signed_headers_ += ";x-amz-content-sha256";
  if (!request.session_mode.empty()) signed_headers_ += ";x-amz-create-session-mode";
  signed_headers_ += ";x-amz-date";
  if (!keys_.token.empty()) signed_headers_.append(";").append(token_name_);
  text_.append("\n").append(signed_headers_).append("\n").append(has_hash ? request.payload_hash : kEmptyBody);
  const Sha256 canonical = hash(text_, "");

  text_.assign("AWS4-HMAC-SHA256\n").append(date()).append("\n").append(scope_).append("\n");
  append_hex(text_, canonical);
  const Sha256 signature = hmac(day_key_, text_);

  header_.assign("AWS4-HMAC-SHA256 Credential=").append(keys_.key_id).append("/").append(scope_);
  header_.append(", SignedHeaders=").append(signed_headers_).append(", Signature=");
  append_hex(header_, signature);
  return header_;
}

}  // namespace headrace::s3
