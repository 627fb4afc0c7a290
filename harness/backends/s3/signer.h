// AWS Signature Version 4 of requests; bodies are not hashed.
// Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/backends/s3/key_renewal.h"

struct evp_md_ctx_st;
struct evp_md_st;

namespace headrace::s3 {

using Sha256 = std::array<unsigned char, 32>;

/// One per thread. The key of a day and the texts of a second are kept. After the first call memory is allocated only
/// for a longer path or query than before.
class Signer {
 public:
  /// `token_name`: of the header with the keys' token. Throws RunError when OpenSSL has no SHA-256.
  Signer(Keys keys, std::string region, std::string service = "s3", std::string token_name = "x-amz-security-token");
  ~Signer();
  Signer(const Signer&) = delete;
  Signer& operator=(const Signer&) = delete;

  struct Request {
    std::string_view method;          // "GET"
    std::string_view host;            // as in the header
    std::string_view path;            // encoded
    std::string_view query{};         // encoded, sorted by name
    std::string_view content_md5{};   // of the header Content-MD5; "" = it is not sent
    std::string_view payload_hash{};  // of x-amz-content-sha256; "" = the header is not sent, the body empty
    std::string_view session_mode{};  // of x-amz-create-session-mode; "" = it is not sent
  };
  /// The value of the header Authorization for the time of date().
  std::string_view authorization(const Request& request);

  /// From now on with these, at the time of the next set_time().
  void take(Keys keys);
  /// Takes the time of the requests that follow [Unix time, s].
  void set_time(std::int64_t unix_s);
  /// The value of the header x-amz-date: "20130524T000000Z".
  std::string_view date() const { return {date_.data(), 16}; }
  const std::string& token() const { return keys_.token; }
  const std::string& token_name() const { return token_name_; }

 private:
  Sha256 hash(std::string_view first, std::string_view second);
  struct Key {
    std::array<unsigned char, 64> inner{}, outer{};  // the key, mixed as HMAC does
  };
  Key key_of(std::span<const unsigned char> bytes);
  Sha256 hmac(const Key& key, std::string_view text);

  Keys keys_;
  const std::string region_, service_, token_name_;
  evp_md_ctx_st* context_;
  evp_md_st* sha256_;
  std::int64_t unix_s_ = -1;
  std::array<char, 17> date_{};
  std::string scope_, signed_headers_;
  Key day_key_;
  std::string day_;
  std::string text_, header_;
};

/// The x-amz-content-sha256 of a request whose body is not hashed.
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

}  // namespace headrace::s3
