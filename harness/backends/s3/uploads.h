// Multipart uploads: begun, completed, aborted, and abandoned ones.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/object_store.h"
#include "harness/backends/s3/readers.h"

namespace headrace::s3 {

// Unmeasured requests for single objects: put, get, remove.

using SharedSettings = std::shared_ptr<const Settings>;

// As the methods of ObjectStore.
std::optional<std::string> put_object(SharedSettings settings, const Ledger& ledger, const std::string& url,
                                      std::string_view bytes, bool only_new);
std::optional<StoredBytes> get_object(SharedSettings settings, const Ledger& ledger, const std::string& url,
                                      std::uint64_t offset, std::uint64_t most);
void remove_objects(SharedSettings settings, const Ledger& ledger, std::span<const OwnObject> objects,
                    const std::function<void(std::size_t, bool)>& each);

/// One request at a time on a connection of its own.
class Call {
 public:
  Call(SharedSettings settings, const Ledger& ledger, const std::string& bucket);
  /// Until it is answered. `text` of the answer is at hand until the next one.
  const Answer& operator()(Ask ask);
  const std::string& text() const { return text_; }
  /// Was it sent more than once? Then an earlier answer may have been lost, and its work done.
  bool asked_again() const { return tries_ > 1; }
  /// Bytes that the last answer has, or would have if they had been asked for. Nothing where it does not report.
  std::optional<std::uint64_t> length() const;
  /// Throws RunError in the server's words.
  [[noreturn]] void refuse(const std::string& what, Doing doing) const;
  const Address& address() const { return requests_.address(); }
  const Settings& settings() const { return requests_.settings(); }

 private:
  Requests requests_;
  std::string text_;
  std::uint32_t tries_ = 0;
};

/// The query of one upload's requests: "uploadId=..." encoded.
std::string upload_query(std::string_view id);

/// Asks for a new upload of `key`; returns its id. `shown` names the object in the RunError.
std::string begin_upload(Call& call, const std::string& key, const std::string& shown);

/// The result of a complete upload.
struct UploadedParts {
  const std::vector<std::string>& etags;  // in the order of the parts
  std::uint64_t size = 0;                 // of all [B]
};

/// Makes the object of these parts; returns its ETag. Throws RunError, also for an error that is in an answer of 200.
std::string complete_upload(Call& call, const std::string& key, const std::string& id, const UploadedParts& parts,
                            const std::string& shown);

// As the methods of ObjectStore.
std::unique_ptr<ObjectReader> make_object_reader(SharedSettings settings, const Ledger& ledger, const std::string& url);
std::vector<OpenUpload> list_uploads(SharedSettings settings, const Ledger& ledger, const std::string& url);
void abort_upload(SharedSettings settings, const Ledger& ledger, const OpenUpload& upload);

}  // namespace headrace::s3
