// An answer of a server, and the report of an answer that is no success.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/backends/s3/address.h"

namespace headrace::s3 {

/// The server's text, cut to the buffer's size: nothing is allocated while requests are measured.
template <std::size_t N>
class ShortText {
 public:
  void clear() noexcept { size_ = 0; }
  void append(std::string_view text) noexcept {
    const std::size_t more = text.size() < N - size_ ? text.size() : N - size_;
    text.copy(text_.data() + size_, more);
    size_ += more;
  }
  void operator=(std::string_view text) noexcept {
    clear();
    append(text);
  }
  std::string_view view() const noexcept { return {text_.data(), size_}; }
  bool empty() const noexcept { return size_ == 0; }

 private:
  std::array<char, N> text_;
  std::size_t size_ = 0;
};

struct Answer {
  int status = 0;                      // of HTTP; 0 = none came
  int transport = 0;                   // CURLcode of an error below HTTP
  int tunnel_status = 0;               // of HTTP, of a proxy that was asked for a way to the server; 0 = none was
  int system_error = 0;                // errno beneath that, where it is known
  std::uint64_t version = 0;           // of the header ETag; 0 = there was none
  ShortText<64> region, date, server;  // headers x-amz-bucket-region, Date, Server
  ShortText<128> etag;                 // the header, with its quotes
  bool sealed = false;                 // encrypted so that the ETag is no MD5 of the content
  ShortText<256> transport_text;       // libcurl's own words
  ShortText<4096> error;               // the beginning of a body that reports an error

  void clear() noexcept;
  bool is_success() const noexcept { return transport == 0 && (status == 200 || status == 204 || status == 206); }
  bool is_refused_by_proxy() const noexcept { return transport != 0 && tunnel_status >= 300; }
  /// Does the server ask for fewer requests?
  bool is_throttled() const noexcept;
  /// May the same request succeed in a moment? Throttled, failed inside, or the connection broke.
  bool is_passing() const noexcept;
  /// "SlowDown", from the body; "" = the server reported none.
  std::string_view code() const noexcept;
  std::string_view message() const noexcept;
};

/// The version from an ETag in headers and listings, quotes or not; 0 = there is none.
std::uint64_t version_of(std::string_view etag) noexcept;

/// "403 AccessDenied (Access Denied.)", or libcurl's words.
std::string words_of(const Answer& answer);

/// The permissions that keys need.
enum class Doing { reading, writing };

/// The sentence for a request that failed: the request, the server's words, and the next step. A server's words become
/// text only here, with the secrets that were sent to it removed.
std::string describe(const std::string& what, const Answer& answer, const Settings& settings, const Address& address,
                     Doing doing = Doing::reading);

/// A server's words without the secrets that were sent to it: '*' replaces them. So it does runs of hexadecimal digits
/// about as long as a signature.
std::string without_secrets(std::string_view words, const Settings& settings);

/// The text between <name> and </name>; "" = it is not there.
std::string_view element(std::string_view text, std::string_view name) noexcept;

}  // namespace headrace::s3
