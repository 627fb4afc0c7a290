#include "harness/backends/s3/transfer.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "harness/base/clock.h"
#include "harness/base/error.h"

namespace headrace::s3 {
namespace {

constexpr long kBuffer = 512 << 10;  // of a read from the socket [B]: half the processor time of libcurl's 16 KiB
constexpr long kSendBuffer = 256 << 10;
constexpr long kConnect_ms = 10'000;
constexpr std::size_t kMostText = 64 << 20;  // of an answer that is kept whole [B]
constexpr std::size_t kLine = 256;           // room for a header to begin with

std::int64_t unix_now() {
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec;
}

bool is_header(std::string_view line, std::string_view name) noexcept {
  return line.size() > name.size() && line[name.size()] == ':' &&
         ::strncasecmp(line.data(), name.data(), name.size()) == 0;
}

std::string_view value_of(std::string_view line, std::string_view name) noexcept {
  std::string_view value = line.substr(name.size() + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == '\r' || value.back() == '\n' || value.back() == ' '))
    value.remove_suffix(1);
  return value;
}

const char* word_of(Method method) noexcept {
  switch (method) {
    case Method::head:
      return "HEAD";
    case Method::put:
      return "PUT";
    case Method::post:
      return "POST";
    case Method::remove:
      return "DELETE";
    case Method::get:
      break;
  }
  return "GET";
}

// libcurl would wait for the server's consent before it sends a body; a checkpoint's client does not.
char kNoExpect[] = "Expect:";

void append_number(std::string& to, std::uint64_t value) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  to.append(digits.data(), end);
}

}  // namespace

Transfer::Transfer(const Way& way, std::uint32_t slot) : way_(way), slot_(slot), easy_(curl_easy_init()) {
  if (easy_ == nullptr) throw RunError("libcurl gives no handle");
  for (std::string* text : {&path_, &url_, &range_}) text->reserve(1024);
  for (std::string& line : lines_) line.reserve(2 * kLine);
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS, kWeb);
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);  // keys may hold "..": they are names, not ways
  curl_easy_setopt(easy_, CURLOPT_BUFFERSIZE, kBuffer);
  curl_easy_setopt(easy_, CURLOPT_UPLOAD_BUFFERSIZE, kSendBuffer);
  curl_easy_setopt(easy_, CURLOPT_READFUNCTION, on_send);
  curl_easy_setopt(easy_, CURLOPT_READDATA, this);
  curl_easy_setopt(easy_, CURLOPT_SEEKFUNCTION, on_seek);
  curl_easy_setopt(easy_, CURLOPT_SEEKDATA, this);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, kConnect_ms);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_.data());
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, "headrace");
  if (!way.settings.ca_bundle.empty()) curl_easy_setopt(easy_, CURLOPT_CAINFO, way.settings.ca_bundle.c_str());
}

Transfer::~Transfer() { curl_easy_cleanup(easy_); }

void Transfer::set_method(Method method) {
  if (method == method_) return;
  method_ = method;
  curl_easy_setopt(easy_, CURLOPT_HTTPGET, 1L);  // undoes the settings of the others
  curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, nullptr);
  if (method == Method::head) curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
  if (method == Method::put || method == Method::post) curl_easy_setopt(easy_, CURLOPT_UPLOAD, 1L);
  if (method == Method::post || method == Method::remove)
    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, word_of(method));
}

void Transfer::prepare(const Ask& ask) {
  ask_ = ask;
  answer_.clear();
  flaw_ = Flaw::none;
  received_ = sent_ = first_ns_ = 0;
  connections_ = 0;
  error_[0] = 0;
  path_.assign(way_.address.base());
  append_encoded(path_, ask.key, true);
  if (ask.key.empty() && path_.size() > 1 && path_.back() == '/') path_.pop_back();  // the bucket itself
  url_.assign(way_.address.origin()).append(path_);
  if (!ask.query.empty()) url_.append("?").append(ask.query);
  curl_easy_setopt(easy_, CURLOPT_URL, url_.c_str());
  set_method(ask.method);
  const bool sends = ask.method == Method::put || ask.method == Method::post;
  if (sends) curl_easy_setopt(easy_, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(ask.sends));

  std::size_t count = 0;
  if (way_.signer != nullptr) {
    Signer& signer = *way_.signer;
    signer.set_time(unix_now());
    lines_[0]
        .assign("Authorization: ")
        .append(signer.authorization({.method = word_of(ask.method),
                                      .host = way_.address.host(),
                                      .path = path_,
                                      .query = ask.query,
                                      .content_md5 = ask.md5,
                                      .payload_hash = kUnsignedPayload}));
    lines_[1].assign("x-amz-date: ").append(signer.date());
    lines_[2].assign("x-amz-content-sha256: ").append(kUnsignedPayload);
    count = 3;
    if (!signer.token().empty()) lines_[count++].assign(signer.token_name()).append(": ").append(signer.token());
  }
  std::size_t all = 0;
  for (std::size_t i = 0; i < count; ++i) list_[all++].data = lines_[i].data();
  if (ask.ranged) {
    range_.assign("Range: bytes=");
    append_number(range_, ask.offset);
    range_ += '-';
    append_number(range_, ask.offset + ask.length - 1);
    list_[all++].data = range_.data();
  }
  if (!ask.md5.empty()) {
    md5_.assign("Content-MD5: ").append(ask.md5);
    list_[all++].data = md5_.data();
  }
  if (ask.only_new || !ask.only_if.empty()) {
    condition_.assign(ask.only_new ? "If-None-Match: *" : "If-Match: ").append(ask.only_if);
    list_[all++].data = condition_.data();
  }
  if (sends) list_[all++].data = kNoExpect;
  for (std::size_t i = 0; i < all; ++i) list_[i].next = i + 1 < all ? &list_[i + 1] : nullptr;
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, all > 0 ? list_.data() : nullptr);
}

void Transfer::ended(CURLcode code) noexcept {
  long status = 0, error = 0, tunnel = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy_, CURLINFO_NUM_CONNECTS, &connections_);
  answer_.status = static_cast<int>(status);
  if (code == CURLE_OK || flaw_ != Flaw::none) return;  // libcurl only shows that it was ended here
  curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &error);
  curl_easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &tunnel);
  answer_.transport = code;
  answer_.tunnel_status = static_cast<int>(tunnel);
  answer_.system_error = static_cast<int>(error);
  answer_.transport_text = error_.data();
}

std::size_t Transfer::on_send(char* to, std::size_t size, std::size_t count, void* self) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t more = std::min<std::size_t>(size * count, transfer.ask_.sends - transfer.sent_);
  if (more == 0) return 0;
  std::memcpy(to, transfer.ask_.from + transfer.sent_, more);
  transfer.sent_ += more;
  return more;
}

int Transfer::on_seek(void* self, curl_off_t offset, int origin) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  if (origin != SEEK_SET || offset < 0 || static_cast<std::uint64_t>(offset) > transfer.ask_.sends)
    return CURL_SEEKFUNC_FAIL;
  transfer.sent_ = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  static_cast<Transfer*>(self)->header({data, size * count});
  return size * count;
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  return static_cast<Transfer*>(self)->body({data, size * count}) ? size * count : 0;
}

void Transfer::header(std::string_view line) noexcept {
  if (first_ns_ == 0) first_ns_ = now_ns();
  if (line.starts_with("HTTP/")) {  // "HTTP/1.1 206 Partial Content"; the last of several counts
    const std::size_t blank = line.find(' ');
    answer_.status = 0;
    if (blank != std::string_view::npos)
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), answer_.status);
    return;
  }
  switch (line.front() | 0x20) {
    case 'e':
      if (is_header(line, "ETag")) {
        answer_.etag = value_of(line, "ETag");
        answer_.version = version_of(answer_.etag.view());
        if (ask_.version != 0 && answer_.version != ask_.version && answer_.status / 100 == 2) flaw_ = Flaw::changed;
      }
      break;
    case 'd':
      if (is_header(line, "Date")) answer_.date = value_of(line, "Date");
      break;
    case 's':
      if (is_header(line, "Server")) answer_.server = value_of(line, "Server");
      break;
    case 'x':
      if (is_header(line, "x-amz-bucket-region")) answer_.region = value_of(line, "x-amz-bucket-region");
      if (is_header(line, "x-amz-server-side-encryption"))
        answer_.sealed |= value_of(line, "x-amz-server-side-encryption") != "AES256";
      if (is_header(line, "x-amz-server-side-encryption-customer-algorithm")) answer_.sealed = true;
      break;
    default:
      break;
  }
}

bool Transfer::body(std::string_view bytes) noexcept {
  if (answer_.status != 200 && answer_.status != 206) {
    answer_.error.append(bytes);
    return true;
  }
  if (ask_.method == Method::put || ask_.method == Method::remove) return true;  // some report success there
  if (flaw_ == Flaw::changed) return false;
  if (ask_.text != nullptr) {
    if (ask_.text->size() + bytes.size() > kMostText) flaw_ = Flaw::too_long;
    if (flaw_ == Flaw::none) ask_.text->append(bytes);
    return flaw_ == Flaw::none;
  }
  if (ask_.ranged && answer_.status == 200) flaw_ = Flaw::range_ignored;
  if (flaw_ == Flaw::none && received_ + bytes.size() > ask_.length) flaw_ = Flaw::too_long;
  if (flaw_ != Flaw::none) return false;
  if (ask_.into != nullptr) std::memcpy(ask_.into + received_, bytes.data(), bytes.size());
  received_ += bytes.size();
  return true;
}

}  // namespace headrace::s3
