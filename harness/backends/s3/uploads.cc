#include "harness/backends/s3/uploads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <pugixml.hpp>
#include <vector>

#include "harness/backends/s3/digest.h"
#include "harness/base/error.h"
#include "harness/base/object_path.h"

namespace headrace::s3 {

namespace {

constexpr unsigned kObjectRetries = 5;
constexpr std::uint32_t kAtOnce = 16;  // removals

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

/// As conditions want it; listings of some stores leave the quotes out.
std::string quoted(const std::string& etag) { return etag.starts_with('"') ? etag : '"' + etag + '"'; }

/// Objects of one bucket on their way out. Each is looked at first, and goes only if it is the listed one.
class Removal {
 public:
  Removal(SharedSettings settings, const Ledger& ledger, const std::string& bucket, std::span<const OwnObject> objects,
          const std::function<void(std::size_t, bool)>& each)
      : requests_(std::move(settings), bucket, kAtOnce, kObjectRetries, ledger.stop()),
        objects_(objects),
        each_(each) {}

  void run() {
    std::size_t next = 0;
    for (std::uint32_t slot = 0; slot < kAtOnce && next < objects_.size(); ++slot) look(slot, next++);
    while (requests_.in_flight() > 0)
      for (const Finished& one : requests_.turn(1)) {
        Slot& slot = slots_[one.slot];
        const Answer& answer = requests_.transfer(one.slot).answer();
        const std::string& etag = objects_[slot.number].etag;
        const bool absent = answer.transport == 0 && answer.status == 404;
        const bool changed = answer.transport == 0 && answer.status == 412;
        if (!answer.is_success() && !absent && !changed)
          throw RunError(describe((slot.looks ? "look at " : "remove ") + objects_[slot.number].url, answer,
                                  requests_.settings(), requests_.address(), Doing::writing));
        if (slot.looks && answer.is_success() && answer.version == version_of(etag)) {
          slot.looks = false;
          slot.etag = quoted(etag);
          requests_.start(one.slot, {.key = slot.key, .method = Method::remove, .only_if = slot.etag});
          continue;
        }
        each_(slot.number, absent || (!slot.looks && answer.is_success()));
        if (next < objects_.size()) look(one.slot, next++);
      }
  }

 private:
  struct Slot {
    std::size_t number = 0;
    bool looks = true;
    std::string key, etag;
  };
  void look(std::uint32_t slot, std::size_t number) {
    slots_[slot] = {number, true, parse_url(objects_[number].url).prefix, ""};
    requests_.start(slot, {.key = slots_[slot].key, .method = Method::head});
  }

  Requests requests_;
  const std::span<const OwnObject> objects_;
  const std::function<void(std::size_t, bool)>& each_;
  std::vector<Slot> slots_{kAtOnce};
};

}  // namespace

Call::Call(SharedSettings settings, const Ledger& ledger, const std::string& bucket)
    : requests_(std::move(settings), bucket, 1, kObjectRetries, ledger.stop()) {}

const Answer& Call::operator()(Ask ask) {
  text_.clear();
  ask.text = &text_;
  requests_.start(0, ask);
  tries_ = 0;
  for (const Finished& one : requests_.turn(1)) tries_ = one.tries;
  return requests_.transfer(0).answer();
}

std::optional<std::uint64_t> Call::length() const {
  curl_off_t bytes = -1;
  curl_easy_getinfo(requests_.transfer(0).easy(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
  if (bytes < 0) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

void Call::refuse(const std::string& what, Doing doing) const {
  throw RunError(describe(what, requests_.transfer(0).answer(), settings(), address(), doing));
}

std::optional<std::string> put_object(SharedSettings settings, const Ledger& ledger, const std::string& url,
                                      std::string_view bytes, bool only_new) {
  const ObjectUrl at = parse_url(url);
  Call call(settings, ledger, at.bucket);
  const auto md5 = md5_of({bytes_of(bytes), bytes.size()});
  const std::string digest = md5 ? base64_of(*md5) : "";
  const Answer& answer = call({.key = at.prefix,
                               .method = Method::put,
                               .from = bytes_of(bytes),
                               .sends = bytes.size(),
                               .md5 = digest,
                               .only_new = only_new});
  if (only_new && answer.transport == 0 && answer.status == 412) {
    if (!call.asked_again()) return std::nullopt;
    const auto stands = get_object(std::move(settings), ledger, url, 0, bytes.size() + 1);
    if (!stands || stands->bytes != bytes) return std::nullopt;
    return stands->etag;
  }
  if (!answer.is_success()) call.refuse("put " + url, Doing::writing);
  return std::string(answer.etag.view());
}

std::optional<StoredBytes> get_object(SharedSettings settings, const Ledger& ledger, const std::string& url,
                                      std::uint64_t offset, std::uint64_t most) {
  const ObjectUrl at = parse_url(url);
  Call call(std::move(settings), ledger, at.bucket);
  const Answer& answer = call({.key = at.prefix, .offset = offset, .length = most, .ranged = true});
  if (answer.transport == 0 && answer.status == 404 && answer.code() != "NoSuchBucket") return std::nullopt;
  if (answer.transport == 0 && answer.status == 416) return StoredBytes{};  // it ends before
  if (!answer.is_success()) call.refuse("get " + url, Doing::reading);
  std::string bytes = call.text();
  if (answer.status == 200) bytes = bytes.size() > offset ? bytes.substr(offset) : "";  // it knows no ranges
  bytes.resize(std::min<std::size_t>(bytes.size(), most));
  return StoredBytes{std::move(bytes), std::string(answer.etag.view())};
}

namespace {

class OneByOne final : public ObjectReader {
 public:
  OneByOne(SharedSettings settings, const Ledger& ledger, const std::string& bucket)
      : requests_(std::move(settings), bucket, 1, kObjectRetries, ledger.stop()) {}

  void read(const std::string& url, std::uint64_t version, std::span<char> into) override {
    const std::string key = parse_url(url).prefix;
    requests_.start(
        0,
        {.key = key, .length = into.size(), .version = version, .into = reinterpret_cast<unsigned char*>(into.data())});
    requests_.turn(1);
    const Transfer& transfer = requests_.transfer(0);
    if (transfer.is_whole()) return;
    const Answer& answer = transfer.answer();
    const bool gone = answer.transport == 0 && answer.status == 404 && answer.code() != "NoSuchBucket";
    if (gone || answer.is_success()) throw RunError(url + ": was changed while it was read");
    throw RunError(describe("get " + url, answer, requests_.settings(), requests_.address(), Doing::reading));
  }

 private:
  Requests requests_;
};

}  // namespace

std::unique_ptr<ObjectReader> make_object_reader(SharedSettings settings, const Ledger& ledger,
                                                 const std::string& url) {
  return std::make_unique<OneByOne>(std::move(settings), ledger, parse_url(url).bucket);
}

void remove_objects(SharedSettings settings, const Ledger& ledger, std::span<const OwnObject> objects,
                    const std::function<void(std::size_t, bool)>& each) {
  if (objects.empty()) return;
  Removal(std::move(settings), ledger, parse_url(objects.front().url).bucket, objects, each).run();
}

namespace {

constexpr unsigned kAborts = 5;  // parts that were on their way may still arrive after one

std::string parameter(std::string_view name, std::string_view value) {
  std::string text(name);
  text += '=';
  append_encoded(text, value, false);
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

[[noreturn]] void no_store(const Call& call, const std::string& what, const char* why) {
  throw RunError(fmt::format("{}: {} answers, and not as an S3 store does ({}): look at AWS_ENDPOINT_URL", what,
                             call.address().origin(), why));
}

/// The ETag of the object under `key`, where these parts make exactly that object. "" otherwise, and where the store's
/// ETags are unknown. An upload may be gone because it is complete: its answer was lost.
std::string completed_before(Call& call, const std::string& key, const UploadedParts& parts) {
  const Answer& stands = call({.key = key, .method = Method::head});
  if (!stands.is_success() || call.length() != parts.size) return "";
  const std::string_view etag = stands.etag.view();
  const auto made = etag_of_parts(parts.etags);
  const bool is_that = made && is_of_parts(etag, parts.etags.size()) && without_quotes(etag) == *made;
  return is_that ? std::string(etag) : "";
}

}  // namespace

std::string upload_query(std::string_view id) { return parameter("uploadId", id); }

std::string begin_upload(Call& call, const std::string& key, const std::string& shown) {
  const Answer& answer = call({.key = key, .query = "uploads=", .method = Method::post});
  if (!answer.is_success()) call.refuse("begin the upload of " + shown, Doing::writing);
  pugi::xml_document document;
  document.load_buffer(call.text().data(), call.text().size());
  const std::string id = document.child("InitiateMultipartUploadResult").child_value("UploadId");
  if (id.empty()) no_store(call, "begin the upload of " + shown, "it names no upload");
  return id;
}

std::string complete_upload(Call& call, const std::string& key, const std::string& id, const UploadedParts& parts,
                            const std::string& shown) {
  std::string body = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < parts.etags.size(); ++i)
    body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1, escaped(parts.etags[i]));
  body += "</CompleteMultipartUpload>";
  const std::string what = "complete the upload of " + shown;
  const Answer& answer = call({.key = key,
                               .query = upload_query(id),
                               .method = Method::post,
                               .from = reinterpret_cast<const unsigned char*>(body.data()),
                               .sends = body.size()});
  if (answer.transport == 0 && answer.status == 404 && answer.code() == "NoSuchUpload") {
    const RunError gone(describe(what, answer, call.settings(), call.address(), Doing::writing));
    if (std::string etag = completed_before(call, key, parts); !etag.empty()) return etag;
    throw gone;
  }
  if (!answer.is_success()) call.refuse(what, Doing::writing);
  // A store may find an error after it has begun to answer with 200.
  pugi::xml_document document;
  document.load_buffer(call.text().data(), call.text().size());
  if (const pugi::xml_node error = document.child("Error")) {
    Answer late = answer;
    late.error = call.text();
    throw RunError(describe(what, late, call.settings(), call.address(), Doing::writing));
  }
  const pugi::xml_node done = document.child("CompleteMultipartUploadResult");
  if (!done) no_store(call, what, "it does not say whether it is complete");
  return done.child_value("ETag");
}

std::vector<OpenUpload> list_uploads(SharedSettings settings, const Ledger& ledger, const std::string& url) {
  const ObjectUrl at = parse_url(url);
  Call call(std::move(settings), ledger, at.bucket);
  const std::string prefix = at.prefix.empty() ? "" : at.prefix + "/";
  std::vector<OpenUpload> all;
  std::string key, id;
  for (;;) {
    std::string query;
    if (!key.empty()) query += parameter("key-marker", key) + "&";
    query += parameter("prefix", prefix);
    if (!id.empty()) query += "&" + parameter("upload-id-marker", id);
    query += "&uploads=";
    const std::string what = "list the uploads below " + url;
    const Answer& answer = call({.key = "", .query = query});
    if (answer.transport == 0 && (answer.status == 501 || answer.status == 405)) return all;  // so it has none
    if (!answer.is_success()) call.refuse(what, Doing::writing);
    pugi::xml_document document;
    document.load_buffer(call.text().data(), call.text().size());
    const pugi::xml_node list = document.child("ListMultipartUploadsResult");
    if (!list) no_store(call, what, "it has no ListMultipartUploadsResult");
    for (const pugi::xml_node upload : list.children("Upload"))
      // Some stores know no prefix there, and report other people's uploads, too.
      if (const std::string_view begun = upload.child_value("Key"); begun.starts_with(prefix))
        all.push_back({fmt::format("{}{}/{}", kObjectScheme, at.bucket, begun), upload.child_value("UploadId")});
    if (std::strcmp(list.child_value("IsTruncated"), "true") != 0) return all;
    std::string next_key = list.child_value("NextKeyMarker"), next_id = list.child_value("NextUploadIdMarker");
    if (next_key.empty() || (next_key == key && next_id == id))
      throw RunError(what + ": the list does not end: each page names itself as the next one");
    key = std::move(next_key);
    id = std::move(next_id);
  }
}

void abort_upload(SharedSettings settings, const Ledger& ledger, const OpenUpload& upload) {
  const ObjectUrl at = parse_url(upload.url);
  Call call(std::move(settings), ledger, at.bucket);
  const std::string query = upload_query(upload.id), what = "abort the upload of " + upload.url;
  for (unsigned i = 0; i < kAborts; ++i) {
    const Answer& aborted = call({.key = at.prefix, .query = query, .method = Method::remove});
    const bool gone = aborted.transport == 0 && aborted.status == 404;
    if (!aborted.is_success() && !gone) call.refuse(what, Doing::writing);
    // Parts of it are listed as long as it is there.
    const Answer& listed = call({.key = at.prefix, .query = query});
    if (listed.transport == 0 && listed.status == 404) return;
    if (!listed.is_success()) call.refuse(what, Doing::writing);
  }
  throw RunError(what + ": the store has parts of it still");
}

}  // namespace headrace::s3
