#include "harness/backends/s3/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "harness/backends/buffers.h"
#include "harness/base/error.h"
#include "harness/record/recorder.h"

namespace headrace::s3 {
namespace {

/// errno, or the recorder's own code, of a request that did not bring all.
int error_of(const Transfer& transfer) noexcept {
  const Answer& answer = transfer.answer();
  switch (transfer.flaw()) {
    case Transfer::Flaw::range_ignored:
      return OperationError::kRangeIgnored;
    case Transfer::Flaw::changed:
    case Transfer::Flaw::too_long:
      return OperationError::kChanged;
    case Transfer::Flaw::none:
      break;
  }
  if (answer.transport == CURLE_PARTIAL_FILE) return OperationError::kShortRead;
  if (answer.transport != 0) return answer.system_error != 0 ? answer.system_error : EPROTO;
  if (!answer.is_success()) return OperationError::kHttp - answer.status;
  return transfer.received() == transfer.ask().length ? 0 : OperationError::kShortRead;
}

/// Common to both kinds of readers: the objects' keys, a buffer for each request, and their final reports.
class Objects {
 public:
  Objects(std::shared_ptr<const Settings> settings, const FileTable& files, std::uint64_t buffer,
          const ReaderOptions& options, Ledger& ledger)
      : files_(files),
        url_(parse_url(files.root())),
        prefix_(url_.prefix.empty() ? "" : url_.prefix + "/"),
        requests_(std::move(settings), url_.bucket, options.queue_depth, options.retries, ledger.stop()),
        ledger_(ledger) {
    ledger.add(requests_);
    if (options.keep_data)
      buffers_.emplace(options.queue_depth, std::max<std::uint64_t>(buffer, 1), options.huge_pages);
    keys_.resize(options.queue_depth);
    for (std::string& key : keys_) key.reserve(1024);
  }
  ~Objects() { ledger_.remove(requests_); }
  Objects(const Objects&) = delete;

  void ask(std::uint32_t slot, std::uint32_t file, std::uint64_t offset, std::uint64_t length, bool ranged) {
    keys_[slot].assign(prefix_).append(files_.path(file));
    requests_.start(slot, {.key = keys_[slot],
                           .offset = offset,
                           .length = length,
                           .ranged = ranged,
                           .version = files_.version(file),
                           .into = buffers_ && length <= buffers_->stride() ? (*buffers_)[slot] : nullptr});
  }
  /// Untimed: can the first byte of this one be had? `ranges`: a server that gives the whole object instead will not do.
  void probe(std::uint32_t file, bool ranges) {
    ask(0, file, 0, 1, true);
    requests_.turn(1);
    const Transfer& transfer = requests_.transfer(0);
    if (transfer.is_whole() || (!ranges && transfer.flaw() == Transfer::Flaw::range_ignored)) return;
    const std::string name = files_.full_path(file);
    if (transfer.flaw() == Transfer::Flaw::range_ignored)
      throw Unsupported(
          fmt::format("get {}: {} answers a range with the whole object (200 instead of 206): nothing can be "
                      "read in parts there; small_file_read reads whole objects",
                      name, requests_.address().origin()));
    if (transfer.flaw() != Transfer::Flaw::none)
      throw RunError(fmt::format("get {}: it is another object than was listed a moment ago", name));
    if (transfer.answer().is_success())
      throw RunError(fmt::format("get {}: {} of {} bytes came", name, transfer.received(), transfer.ask().length));
    throw RunError(describe("get " + name, transfer.answer(), requests_.settings(), requests_.address()));
  }

  const FileTable& files() const { return files_; }
  Requests& requests() { return requests_; }
  unsigned char* data(std::uint32_t slot) const { return buffers_ ? (*buffers_)[slot] : nullptr; }

 private:
  const FileTable& files_;
  const ObjectUrl url_;
  const std::string prefix_;
  Requests requests_;
  Ledger& ledger_;
  std::optional<Buffers> buffers_;
  std::vector<std::string> keys_;
};

class WholeObjects final : public WholeFileReader {
 public:
  WholeObjects(std::shared_ptr<const Settings> settings, const FileTable& files, const ReaderOptions& options,
               Ledger& ledger)
      : objects_(std::move(settings), files, std::min(options.block_size, files.largest()), options, ledger),
        file_of_(options.queue_depth) {
    done_.reserve(options.queue_depth);
    for (std::uint32_t slot = options.queue_depth; slot > 0; --slot) free_.push_back(slot - 1);
    if (files.count() > 0) objects_.probe(0, false);
  }

  std::span<const FileCompletion> exchange(std::span<const std::uint32_t> files, unsigned wait_for) override {
    for (const std::uint32_t file : files) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      file_of_[slot] = file;
      objects_.ask(slot, file, 0, objects_.files().size(file), false);
    }
    return completed(objects_.requests().turn(wait_for));
  }
  std::span<const FileCompletion> wait_until(std::uint64_t until_ns) override {
    if (objects_.requests().in_flight() > 0) return completed(objects_.requests().turn(1, until_ns));
    sleep_until(until_ns);
    return {};
  }
  unsigned free_slots() const override { return static_cast<unsigned>(free_.size()); }
  const unsigned char* data(std::uint32_t slot) const override { return objects_.data(slot); }

 private:
  std::span<const FileCompletion> completed(std::span<const Finished> finished) {
    done_.clear();
    for (const Finished& one : finished) {
      const Transfer& transfer = objects_.requests().transfer(one.slot);
      const std::uint64_t first = one.first_ns != 0 ? one.first_ns : one.end_ns;
      FileCompletion& file = done_.emplace_back();
      file = {.file = file_of_[one.slot],
              .slot = one.slot,
              .error = error_of(transfer),
              .bytes = transfer.received(),
              .requests = one.tries,
              .begin_ns = one.begin_ns,
              .opened_ns = first,
              .read_ns = one.end_ns,
              .end_ns = one.end_ns};
      if (file.error != 0) {
        file.failed_part = one.first_ns == 0 || !transfer.answer().is_success() ? 1 : 2;
        file.failed_offset = transfer.received();
      }
      free_.push_back(one.slot);
    }
    return done_;
  }

  Objects objects_;
  std::vector<std::uint32_t> file_of_, free_;
  std::vector<FileCompletion> done_;
};

class Ranges final : public BlockReader {
 public:
  Ranges(std::shared_ptr<const Settings> settings, const FileTable& files, std::span<const std::uint32_t> selected,
         const ReaderOptions& options, Ledger& ledger)
      : selected_(selected.begin(), selected.end()),
        objects_(std::move(settings), files, options.block_size, options, ledger),
        request_of_(options.queue_depth) {
    done_.reserve(options.queue_depth);
    if (!selected_.empty()) objects_.probe(selected_.front(), true);
  }

  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned wait_for) override {
    for (const BlockRequest& request : requests) {
      request_of_[request.slot] = request;
      objects_.ask(request.slot, selected_[request.file], request.offset, request.length, true);
    }
    return completed(objects_.requests().turn(wait_for));
  }
  std::span<const BlockCompletion> wait_until(std::uint64_t until_ns) override {
    if (objects_.requests().in_flight() > 0) return completed(objects_.requests().turn(1, until_ns));
    sleep_until(until_ns);
    return {};
  }
  unsigned char* data(std::uint32_t slot) override { return objects_.data(slot); }

 private:
  std::span<const BlockCompletion> completed(std::span<const Finished> finished) {
    done_.clear();
    for (const Finished& one : finished) {
      const Transfer& transfer = objects_.requests().transfer(one.slot);
      const BlockRequest& request = request_of_[one.slot];
      const int error = error_of(transfer);
      done_.push_back({.file = request.file,
                       .slot = one.slot,
                       .offset = request.offset + (error != 0 ? transfer.received() : 0),
                       .result = error != 0 ? -std::int64_t{EIO} : static_cast<std::int64_t>(transfer.received()),
                       .error = error,
                       .begin_ns = one.begin_ns,
                       .first_ns = one.first_ns,
                       .end_ns = one.end_ns});
    }
    return done_;
  }

  const std::vector<std::uint32_t> selected_;
  Objects objects_;
  std::vector<BlockRequest> request_of_;
  std::vector<BlockCompletion> done_;
};

}  // namespace

void Ledger::add(Requests& requests) {
  const std::lock_guard lock(mutex_);
  tallies_.push_back(requests.tally());
  living_.push_back(&requests);
}

void Ledger::remove(Requests& requests) {
  const std::lock_guard lock(mutex_);
  hear(requests);
  std::erase(living_, &requests);
}

void Ledger::hear(Requests& requests) {
  for (const Refusals& kind : requests.take_refusals()) {
    std::string note = describe("some requests were refused", kind.first, requests.settings(), requests.address());
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(std::move(note));
  }
}

RequestCounts Ledger::counts() const {
  const std::lock_guard lock(mutex_);
  RequestCounts all;
  for (const auto& one : tallies_) {
    all.requests += one->requests;
    all.received += one->received;
    all.sent += one->sent;
    all.retries += one->retries;
    all.waited_ns += one->waited_ns;
    all.throttled += one->throttled;
    all.refused += one->refused;
    all.connections += one->connections;
  }
  return all;
}

std::vector<std::string> Ledger::take_notes() {
  const std::lock_guard lock(mutex_);
  for (Requests* requests : living_) hear(*requests);
  return std::exchange(notes_, {});
}

std::unique_ptr<WholeFileReader> make_whole_objects(std::shared_ptr<const Settings> settings, const FileTable& files,
                                                    const ReaderOptions& options, Ledger& ledger) {
  return std::make_unique<WholeObjects>(std::move(settings), files, options, ledger);
}

std::unique_ptr<BlockReader> make_ranges(std::shared_ptr<const Settings> settings, const FileTable& files,
                                         std::span<const std::uint32_t> selected, const ReaderOptions& options,
                                         Ledger& ledger) {
  return std::make_unique<Ranges>(std::move(settings), files, selected, options, ledger);
}

}  // namespace headrace::s3
