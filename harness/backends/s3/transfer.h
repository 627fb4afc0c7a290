// One request at a time over libcurl: a slot of a reader.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/backends/s3/answer.h"
#include "harness/backends/s3/signer.h"

namespace headrace::s3 {

inline constexpr long kWeb = CURLPROTO_HTTP | CURLPROTO_HTTPS;  // protocols that may be used

enum class Method : std::uint8_t { get, head, put, post, remove };

/// A request, its body, and the place of the answer's body.
struct Ask {
  std::string_view key;           // not encoded; "" = of the bucket
  std::string_view query{};       // encoded, sorted
  std::uint64_t offset = 0;       // of a range
  std::uint64_t length = 0;       // expected bytes of the body
  bool ranged = false;            // only [offset, offset + length) is asked for
  std::uint64_t version = 0;      // must be the object's; 0 = any
  unsigned char* into = nullptr;  // at least `length` bytes; nullptr = received bytes are counted and dropped
  std::string* text = nullptr;    // instead: all of it, however much comes (listings)
  Method method = Method::get;
  const unsigned char* from = nullptr;  // `sends` bytes: the body of put and post
  std::uint64_t sends = 0;
  std::string_view md5{};      // of that body, in base 64: the server looks whether it came as it was; "" = it does not
  std::string_view only_if{};  // done only to the object of this ETag; "*" with `only_new`: only where there is none
  bool only_new = false;
};

/// How the engine's transfers go out.
struct Way {
  const Settings& settings;
  const Address& address;
  Signer* signer;  // nullptr = requests are not signed
};

class Transfer {
 public:
  enum class Flaw : std::uint8_t { none, range_ignored, changed, too_long };

  /// Allocates all that it needs, except libcurl's own memory. Throws RunError.
  Transfer(const Way& way, std::uint32_t slot);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Makes the handle ready to be added to a multi handle.
  void prepare(const Ask& ask);
  /// After libcurl is through with it.
  void ended(CURLcode code) noexcept;

  CURL* easy() const noexcept { return easy_; }
  std::uint32_t slot() const noexcept { return slot_; }
  const Ask& ask() const noexcept { return ask_; }
  const Answer& answer() const noexcept { return answer_; }
  Flaw flaw() const noexcept { return flaw_; }
  std::uint64_t received() const noexcept { return received_; }
  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t first_ns() const noexcept { return first_ns_; }  // when the answer began; 0 = it never did
  bool opened_connection() const noexcept { return connections_ > 0; }
  /// All came, and of the object that was meant.
  bool is_whole() const noexcept {
    return answer_.is_success() && flaw_ == Flaw::none && (ask_.text != nullptr || received_ == ask_.length);
  }

 private:
  static std::size_t on_send(char* to, std::size_t size, std::size_t count, void* self) noexcept;
  static int on_seek(void* self, curl_off_t offset, int origin) noexcept;
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  void header(std::string_view line) noexcept;
  bool body(std::string_view bytes) noexcept;
  void set_method(Method method);

  const Way way_;
  const std::uint32_t slot_;
  CURL* easy_;
  Ask ask_;
  Answer answer_;
  Flaw flaw_ = Flaw::none;
  Method method_ = Method::get;  // that libcurl is set to
  std::uint64_t received_ = 0, sent_ = 0, first_ns_ = 0;
  long connections_ = 0;
  std::string path_, url_;
  // Headers that libcurl sends; the list stays, its lines are written anew for each request.
  std::array<std::string, 4> lines_;
  std::string range_, md5_, condition_;
  std::array<curl_slist, 8> list_{};
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace headrace::s3
