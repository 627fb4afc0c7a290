// The plugin's door, and the engine over libcurl.
#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/backends/object_store.h"
#include "harness/backends/object_writer.h"
#include "harness/backends/plugin.h"
#include "harness/backends/s3/digest.h"
#include "harness/backends/s3/listing.h"
#include "harness/backends/s3/readers.h"
#include "harness/backends/s3/uploads.h"
#include "harness/base/error.h"
#include "harness/record/recorder.h"

namespace headrace::s3 {
namespace {

// Objects in parts, behind the interface of harness/backends/object_writer.h.

class Parts final : public ObjectWriter {
 public:
  Parts(std::shared_ptr<const Settings> settings, const ObjectWriterOptions& options, Ledger& ledger)
      : settings_(std::move(settings)), options_(options), ledger_(ledger), slots_(options.queue_depth) {
    done_.reserve(options.queue_depth);
  }
  ~Parts() override {
    give_up();
    if (requests_) ledger_.remove(*requests_);
  }

  void checksums_of(const unsigned char* from, std::uint64_t size) override {
    sums_.clear();
    texts_.clear();
    for (std::uint64_t at = 0; at < size; at += options_.part_size) {
      const auto sum = md5_of({from + at, std::min(options_.part_size, size - at)});
      if (!sum) return;
      sums_.push_back(*sum);
      texts_.push_back(base64_of(*sum));
    }
  }

  void begin(const std::string& url, std::uint64_t size) override {
    give_up();
    ObjectUrl at = parse_url(url);
    if (!requests_ || at.bucket != bucket_) {
      if (requests_) ledger_.remove(*requests_);
      requests_ =
          std::make_unique<Requests>(settings_, at.bucket, options_.queue_depth, options_.retries, ledger_.stop());
      ledger_.add(*requests_);
      call_.emplace(settings_, ledger_, at.bucket);
      bucket_ = at.bucket;
    }
    url_ = url;
    key_ = std::move(at.prefix);
    const std::uint64_t parts = std::max<std::uint64_t>(1, (size + options_.part_size - 1) / options_.part_size);
    etags_.assign(parts, "");
    why_.clear();
    size_ = size;
    if (parts > 1) upload_ = begin_upload(*call_, key_, url_);
    begun_ = true;
  }

  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned wait_for) override {
    for (const BlockRequest& request : requests) send(request);
    done_.clear();
    for (const Finished& one : requests_->turn(wait_for)) {
      const Slot& slot = slots_[one.slot];
      const int error = error_of(requests_->transfer(one.slot).answer(), slot.part);
      done_.push_back({.slot = one.slot,
                       .offset = slot.part * options_.part_size,
                       .result = error != 0 ? -std::int64_t{EIO} : static_cast<std::int64_t>(slot.length),
                       .error = error,
                       .begin_ns = one.begin_ns,
                       .end_ns = one.end_ns});
    }
    return done_;
  }

  std::string finish() override {
    if (upload_.empty()) {
      begun_ = false;
      return etags_.front();
    }
    const std::string etag = complete_upload(*call_, key_, upload_, {etags_, size_}, url_);
    begun_ = false;
    upload_.clear();
    const auto whole = sums_.size() == etags_.size() && !sealed_ ? etag_of(sums_) : std::nullopt;
    const std::string_view reported = without_quotes(etag);
    if (whole && is_of_parts(etag, etags_.size()) && reported != *whole)
      throw RunError(
          fmt::format("complete the upload of {}: the store's ETag is {}, expected {}: the stored object differs", url_,
                      reported, *whole));
    return etag;
  }

  bool give_up() noexcept override {
    if (!begun_) return true;
    begun_ = false;
    if (requests_) requests_->cancel();
    if (upload_.empty()) return true;
    try {
      abort_upload(settings_, ledger_, {url_, std::exchange(upload_, "")});
      return true;
    } catch (const RunError&) {  // it stays for the next run, or `clean`
      return false;
    }
  }

  const std::string& why() const override { return why_; }

 private:
  struct Slot {
    std::uint64_t part = 0, length = 0;
    std::string query;
  };

  void send(const BlockRequest& request) {
    Slot& slot = slots_[request.slot];
    slot.part = request.offset / options_.part_size;
    slot.length = request.length;
    slot.query.clear();
    if (!upload_.empty()) slot.query = fmt::format("partNumber={}&{}", slot.part + 1, upload_query(upload_));
    requests_->start(request.slot, {.key = key_,
                                    .query = slot.query,
                                    .method = Method::put,
                                    .from = request.from,
                                    .sends = request.length,
                                    .md5 = slot.part < texts_.size() ? std::string_view(texts_[slot.part]) : ""});
  }

  /// errno, or the recorder's own code; 0: the part is there as it was sent.
  int error_of(const Answer& answer, std::uint64_t part) {
    const std::string what =
        etags_.size() > 1 ? fmt::format("put part {} of {} of {}", part + 1, etags_.size(), url_) : "put " + url_;
    if (!answer.is_success()) {
      if (why_.empty()) why_ = describe(what, answer, *settings_, requests_->address(), Doing::writing);
      if (answer.transport != 0) return answer.system_error != 0 ? answer.system_error : EPROTO;
      return OperationError::kHttp - answer.status;
    }
    const std::string_view etag = without_quotes(answer.etag.view());
    if (etag.empty()) {
      if (why_.empty()) why_ = what + ": the server answered 200, without an ETag: nothing proves what it has taken";
      return OperationError::kWrongData;
    }
    sealed_ = answer.sealed || !zone_of(bucket_).empty();
    if (part < sums_.size() && !sealed_ && is_md5(etag) && etag != hex_of(sums_[part])) {
      if (why_.empty())
        why_ = fmt::format(
            "{}: the store's ETag is {}, expected {}: the stored object differs. A proxy or a NIC on the path changes "
            "bytes, or the store loses some",
            what, etag, hex_of(sums_[part]));
      return OperationError::kWrongData;
    }
    etags_[part] = answer.etag.view();
    return 0;
  }

  const std::shared_ptr<const Settings> settings_;
  const ObjectWriterOptions options_;
  Ledger& ledger_;
  std::unique_ptr<Requests> requests_;
  std::optional<Call> call_;
  std::string bucket_, url_, key_, upload_, why_;
  std::uint64_t size_ = 0;  // of the object
  bool begun_ = false, sealed_ = false;
  std::vector<std::string> etags_, texts_;
  std::vector<Md5> sums_;
  std::vector<Slot> slots_;
  std::vector<BlockCompletion> done_;
};

std::unique_ptr<ObjectWriter> make_writer(std::shared_ptr<const Settings> settings, const ObjectWriterOptions& options,
                                          Ledger& ledger) {
  return std::make_unique<Parts>(std::move(settings), options, ledger);
}

// Pages of listings and heads of objects, as they are measured.

class Names final : public ObjectNames {
 public:
  Names(std::shared_ptr<const Settings> settings, const std::string& bucket, unsigned retries, Ledger& ledger)
      : requests_(std::move(settings), bucket, 1, retries, ledger.stop()), ledger_(ledger) {
    ledger_.add(requests_);
  }
  ~Names() override { ledger_.remove(requests_); }

  Asked page(const std::string& prefix, std::vector<std::string>* folders, std::string& token,
             const std::function<void(const ListedObject&)>& each) override {
    if (token.empty()) begins_.clear();
    query_ = page_query(prefix, token, folders != nullptr);
    text_.clear();
    const Asked asked = ask({.key = "", .query = query_, .text = &text_});
    if (asked.error != 0) return asked;
    bool first = true;
    ListedPage found = parse(prefix, [&](const ListedObject& object) {
      if (std::exchange(first, false) && !begins_.insert(std::hash<std::string_view>{}(object.key)).second)
        throw RunError(fmt::format("list {}: the listing does not end: {} comes again", prefix, object.key));
      each(object);
    });
    if (!found.next.empty() && found.next == token)
      throw RunError(fmt::format("list {}: the listing does not end: each page names itself as the next one", prefix));
    token = std::move(found.next);
    if (folders != nullptr)
      folders->insert(folders->end(), std::make_move_iterator(found.folders.begin()),
                      std::make_move_iterator(found.folders.end()));
    return asked;
  }
  Asked head(std::string_view key) override { return ask({.key = key, .method = Method::head}); }
  std::string why(const std::string& what) const override {
    return describe(what, requests_.transfer(0).answer(), requests_.settings(), requests_.address());
  }

 private:
  Asked ask(const Ask& what) {
    requests_.start(0, what);
    const auto done = requests_.turn(1);
    const Transfer& transfer = requests_.transfer(0);
    const Answer& answer = transfer.answer();
    Asked asked{.error = 0, .begin_ns = 0, .end_ns = 0};
    if (!done.empty()) {
      asked.begin_ns = done.front().begin_ns;
      asked.end_ns = done.front().end_ns;
    }
    if (answer.transport != 0)
      asked.error = answer.system_error != 0 ? answer.system_error : EPROTO;
    else if (!answer.is_success())
      asked.error = OperationError::kHttp - answer.status;
    else if (transfer.flaw() != Transfer::Flaw::none)
      asked.error = EPROTO;
    return asked;
  }
  ListedPage parse(const std::string& prefix, const std::function<void(const ListedObject&)>& each) {
    try {
      return parse_page(prefix, text_, each);
    } catch (const std::invalid_argument& e) {
      throw RunError(fmt::format("list: {} answers, and not as an S3 store does ({}): look at AWS_ENDPOINT_URL",
                                 requests_.address().origin(), e.what()));
    }
  }

  Requests requests_;
  Ledger& ledger_;
  std::string query_, text_;
  std::unordered_set<std::size_t> begins_;  // of the pages of the present listing
};

std::unique_ptr<ObjectNames> make_names(std::shared_ptr<const Settings> settings, const std::string& bucket,
                                        unsigned retries, Ledger& ledger) {
  return std::make_unique<Names>(std::move(settings), bucket, retries, ledger);
}

class S3Engine final : public StorageEngine, public ObjectStore {
 public:
  S3Engine() { curl_global_init(CURL_GLOBAL_DEFAULT); }

  std::optional<std::string> unusable() const override { return std::nullopt; }
  std::unique_ptr<WholeFileReader> whole_file_reader(const FileTable& files, const ReaderOptions& options) override {
    return make_whole_objects(settings(), files, options, ledger_);
  }
  std::unique_ptr<BlockReader> block_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                            const ReaderOptions& options) override {
    return make_ranges(settings(), files, selected, options, ledger_);
  }
  std::unique_ptr<BlockWriter> block_writer(const WriterOptions&) override {
    throw RunError("engine s3 writes objects, and no blocks of files");
  }
  std::vector<std::string> take_notes() override { return ledger_.take_notes(); }

  void stop_with(const std::atomic<int>& stop) override { ledger_.stop_with(stop); }

  ObjectStore* object_store() override { return this; }
  std::string list(const std::string& url, const std::function<void(const ListedObject&)>& each) override {
    return list_objects(settings(), url, ledger_, each);
  }
  std::string describe(const std::string& url) const override {
    const auto known = settings();
    const Address address(*known, parse_url(url).bucket);
    return fmt::format("{}, {} style, region {}, {}", address.origin(),
                       address.virtual_host() ? "virtual-host" : "path", known->region,
                       !known->is_signed()                       ? "not signed: no keys were found"
                       : !zone_of(parse_url(url).bucket).empty() ? "signed with the keys of a session"
                       : known->renewal                          ? "signed with the keys of " + known->source
                                                                 : "signed");
  }
  RequestCounts counts() const override { return ledger_.counts(); }

  std::optional<std::string> put(const std::string& url, std::string_view bytes, bool only_new) override {
    return put_object(settings(), ledger_, url, bytes, only_new);
  }
  std::optional<StoredBytes> get(const std::string& url, std::uint64_t offset, std::uint64_t most) override {
    return get_object(settings(), ledger_, url, offset, most);
  }
  void remove(std::span<const OwnObject> objects, const std::function<void(std::size_t, bool)>& each) override {
    remove_objects(settings(), ledger_, objects, each);
  }
  std::vector<OpenUpload> uploads(const std::string& url) override { return list_uploads(settings(), ledger_, url); }
  void abort(const OpenUpload& upload) override { abort_upload(settings(), ledger_, upload); }
  std::unique_ptr<ObjectNames> names(const std::string& url, unsigned retries) override {
    return make_names(settings(), parse_url(url).bucket, retries, ledger_);
  }
  std::unique_ptr<ObjectReader> object_reader(const std::string& url) override {
    return make_object_reader(settings(), ledger_, url);
  }
  std::unique_ptr<ObjectWriter> object_writer(const ObjectWriterOptions& options) override {
    return make_writer(settings(), options, ledger_);
  }

 private:
  /// Read when first needed, so that readers of files need no right endpoint.
  std::shared_ptr<const Settings> settings() const {
    const std::lock_guard lock(mutex_);
    if (!settings_) settings_ = std::make_shared<const Settings>(read_settings());
    return settings_;
  }

  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Settings> settings_;
  Ledger ledger_;
};

class S3Plugin final : public Plugin {
 public:
  std::string version() const override {
    return fmt::format("libcurl {}, OpenSSL {}", curl_version_info(CURLVERSION_NOW)->version,
                       OpenSSL_version(OPENSSL_VERSION_STRING));
  }
  std::unique_ptr<StorageEngine> storage_engine() override { return std::make_unique<S3Engine>(); }
};

}  // namespace
}  // namespace headrace::s3

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::s3::S3Plugin plugin;
  return &plugin;
}
