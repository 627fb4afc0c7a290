#include "harness/backends/s3/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <pugixml.hpp>
#include <unordered_set>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/object_path.h"

namespace headrace::s3 {
namespace {

constexpr unsigned kListingRetries = 5;

/// It becomes a header of requests that ask for the very object.
bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

class Lister {
 public:
  Lister(std::shared_ptr<const Settings> settings, std::string url, const ObjectUrl& parsed, Ledger& ledger)
      : url_(std::move(url)),
        requests_(std::move(settings), parsed.bucket, 1, kListingRetries, ledger.stop()),
        ledger_(ledger) {
    ledger_.add(requests_);
  }
  ~Lister() { ledger_.remove(requests_); }
  Lister(const Lister&) = delete;

  /// All objects whose keys begin so. Returns how many.
  std::uint64_t below(const std::string& prefix, const std::function<void(const ListedObject&)>& each) {
    std::string token;
    std::unordered_set<std::string>
        begins;  // of pages: stores differ in the order of keys, so only a page twice is one too many
    std::uint64_t found = 0;
    do {
      const std::string query = page_query(prefix, token);
      bool first = true;
      ListedPage page = parse(prefix, get(query), [&](const ListedObject& object) {
        if (requests_.settings().secrets.whole_one_in(object.key.substr(prefix.size())))
          throw RunError(fmt::format("list {}: the store lists a name that repeats a secret of the request", url_));
        if (std::exchange(first, false) && !begins.emplace(object.key).second)
          throw RunError(fmt::format("list {}: the listing does not end: after {} objects comes {} again", url_, found,
                                     without_secrets(object.key, requests_.settings())));
        ++found;
        each(object);
      });
      if (!page.next.empty() && page.next == token)
        throw RunError(fmt::format("list {}: the listing does not end: each page names itself as the next one", url_));
      token = std::move(page.next);
    } while (!token.empty());
    return found;
  }

 private:
  std::string& get(const std::string& query) {
    text_.clear();
    requests_.start(0, {.key = "", .query = query, .text = &text_});
    requests_.turn(1);
    const Answer& answer = requests_.transfer(0).answer();
    if (requests_.transfer(0).flaw() != Transfer::Flaw::none)
      throw RunError(fmt::format("list {}: a page of the listing is larger than any store's", url_));
    if (!answer.is_success())
      throw RunError(describe("list " + url_, answer, requests_.settings(), requests_.address()));
    return text_;
  }
  ListedPage parse(const std::string& prefix, std::string& text, const std::function<void(const ListedObject&)>& each) {
    try {
      return parse_page(prefix, text, each);
    } catch (const std::invalid_argument& e) {
      throw RunError(fmt::format("list {}: {} answers, and not as an S3 store does ({}): look at AWS_ENDPOINT_URL",
                                 url_, requests_.address().origin(), without_secrets(e.what(), requests_.settings())));
    }
  }

  const std::string url_;
  Requests requests_;
  Ledger& ledger_;
  std::string text_;
};

}  // namespace

std::string page_query(const std::string& prefix, const std::string& token, bool delimited) {
  std::string query;  // sorted by name, as signatures want it
  if (!token.empty()) {
    query = "continuation-token=";
    append_encoded(query, token, false);
    query += '&';
  }
  if (delimited) query += "delimiter=%2F&";
  query += "list-type=2&prefix=";
  append_encoded(query, prefix, false);
  return query;
}

ListedPage parse_page(const std::string& prefix, std::string& text,
                      const std::function<void(const ListedObject&)>& each) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer_inplace(text.data(), text.size());
  if (!parsed) throw std::invalid_argument(parsed.description());
  const pugi::xml_node list = document.child("ListBucketResult");
  if (!list) throw std::invalid_argument("it has no ListBucketResult");
  for (const pugi::xml_node object : list.children("Contents")) {
    const std::string_view key = object.child_value("Key");
    if (!key.starts_with(prefix))
      throw std::invalid_argument(fmt::format("it lists {}, which is outside the requested prefix", key));
    if (has_control_character(object.child_value("ETag")))
      throw std::invalid_argument("an ETag in it has a control character");
    each({.key = key,
          .size = object.child("Size").text().as_ullong(),
          .version = version_of(object.child_value("ETag")),
          .etag = object.child_value("ETag")});
  }
  ListedPage page;
  for (const pugi::xml_node folder : list.children("CommonPrefixes"))
    page.folders.emplace_back(folder.child_value("Prefix"));
  if (std::strcmp(list.child_value("IsTruncated"), "true") != 0) return page;
  page.next = list.child_value("NextContinuationToken");
  if (page.next.empty()) throw std::invalid_argument("a page that is not the last names no next one");
  return page;
}

std::string list_objects(std::shared_ptr<const Settings> settings, const std::string& url, Ledger& ledger,
                         const std::function<void(const ListedObject&)>& each) {
  const ObjectUrl parsed = parse_url(url);
  Lister lister(std::move(settings), url, parsed, ledger);
  const auto named = [&](const std::string& folder) {
    return [&, folder](ListedObject object) {
      if (!object.key.starts_with(folder))
        throw RunError(
            fmt::format("list {}: the store lists {}, which does not begin as it was asked for", url, object.key));
      object.key.remove_prefix(folder.size());
      each(object);
    };
  };
  std::string root = std::string(kObjectScheme) + parsed.bucket;
  if (parsed.prefix.empty()) {
    lister.below("", named(""));
    return root;
  }
  const std::string folder = parsed.prefix + "/";
  if (lister.below(folder, named(folder)) > 0) return root + "/" + parsed.prefix;
  // No folder: an object of that very name?
  const std::size_t slash = parsed.prefix.rfind('/');
  const std::size_t cut = slash == std::string::npos ? 0 : slash + 1;
  lister.below(parsed.prefix, [&](ListedObject object) {
    if (object.key != parsed.prefix) return;
    object.key.remove_prefix(cut);
    each(object);
  });
  return cut == 0 ? root : root + "/" + parsed.prefix.substr(0, slash);
}

}  // namespace headrace::s3
