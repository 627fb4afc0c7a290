#include "harness/backends/s3/objects.h"

#include <algorithm>
#include <vector>

#include "harness/backends/s3/digest.h"
#include "harness/base/error.h"

namespace headrace::s3 {
namespace {

constexpr unsigned kObjectRetries = 5;
constexpr std::uint32_t kAtOnce = 16;  // removals

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

/// As conditions want it; listings of some stores leave the quotes out.
std::string quoted(const std::string& etag) { return etag.starts_with('"') ? etag : '"' + etag + '"'; }

/// Objects of one bucket on their way out: each is looked at first, and goes only if it is the one that was listed.
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

void remove_objects(SharedSettings settings, const Ledger& ledger, std::span<const OwnObject> objects,
                    const std::function<void(std::size_t, bool)>& each) {
  if (objects.empty()) return;
  Removal(std::move(settings), ledger, parse_url(objects.front().url).bucket, objects, each).run();
}

}  // namespace headrace::s3
