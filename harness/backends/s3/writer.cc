#include "harness/backends/s3/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "harness/backends/s3/digest.h"
#include "harness/backends/s3/etags.h"
#include "harness/backends/s3/uploads.h"
#include "harness/base/error.h"
#include "harness/record/recorder.h"

namespace headrace::s3 {
namespace {

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
    sealed_ = answer.sealed;
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

}  // namespace

std::unique_ptr<ObjectWriter> make_writer(std::shared_ptr<const Settings> settings, const ObjectWriterOptions& options,
                                          Ledger& ledger) {
  return std::make_unique<Parts>(std::move(settings), options, ledger);
}

}  // namespace headrace::s3
