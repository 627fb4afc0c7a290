// Requests for single objects that nobody measures: put, get, remove.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "harness/backends/object_store.h"
#include "harness/backends/s3/readers.h"

namespace headrace::s3 {

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
  /// Was it asked more than once? Then an answer before the last may have been lost on the way, and what it reported done.
  bool asked_again() const { return tries_ > 1; }
  /// Bytes that the last answer has, or would have if they had been asked for; nothing where it does not report.
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

}  // namespace headrace::s3
