// An engine's reports on its object store, and its unmeasured requests there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class ObjectWriter;
struct ObjectWriterOptions;

struct ListedObject {
  std::string_view key;    // below the prefix that was asked for; of a single object all of its key after the last '/'
  std::uint64_t size = 0;  // [B]
  std::uint64_t version = 0;  // of its ETag: changes when another takes its place
  std::string_view etag{};    // with its quotes
};

/// Since the program began, of all readers.
struct RequestCounts {
  std::uint64_t requests = 0;     // sent, those that were sent again included
  std::uint64_t received = 0;     // bytes of objects that came over connections
  std::uint64_t sent = 0;         // bytes of objects that went out over them
  std::uint64_t retries = 0;      // requests that were sent again
  std::uint64_t waited_ns = 0;    // pauses before that, of all requests together
  std::uint64_t throttled = 0;    // answers that ask for fewer requests: 503 SlowDown, 429
  std::uint64_t refused = 0;      // other answers that are no success
  std::uint64_t connections = 0;  // opened
};

struct StoredBytes {
  std::string bytes, etag;
};

/// As it was listed.
struct OwnObject {
  std::string url, etag;
};

/// A multipart upload that was neither completed nor aborted.
struct OpenUpload {
  std::string url, id;
};

/// Lists objects and reports on them, one request after the other: on one thread. Keeps nothing of a page.
class ObjectNames {
 public:
  /// One answer: its times, and errno or one of OperationError's own where there is none that is right.
  struct Asked {
    int error = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
  };
  virtual ~ObjectNames() = default;
  /// The next page of the keys that begin with `prefix`. With `folders`, keys that have a '/' after the prefix go
  /// there, cut off after it. `token`: "" = the first page; becomes that of the next one, "" = it was the last. `each`
  /// gets the whole keys. Throws RunError where the listing does not end, or is none.
  virtual Asked page(const std::string& prefix, std::vector<std::string>* folders, std::string& token,
                     const std::function<void(const ListedObject&)>& each) = 0;
  /// Reports on one object.
  virtual Asked head(std::string_view key) = 0;
  /// Why the last request failed, with what to do.
  virtual std::string why(const std::string& what) const = 0;
};

/// Reads objects on one thread, over one connection.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  /// All of `url`, as large as `into`. `version`: as it was listed. Throws RunError in the server's own words, and where
  /// it is not that object any more.
  virtual void read(const std::string& url, std::uint64_t version, std::span<char> into) = 0;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  /// Every object below `url` ("s3://bucket/prefix", taken for a folder), ordered by key, or the one object of that
  /// name. Returns the part before the keys ("s3://bucket/prefix"). Throws RunError in the server's own words, with
  /// what to do.
  virtual std::string list(const std::string& url, const std::function<void(const ListedObject&)>& each) = 0;
  /// Where requests for `url` go to and how: "http://127.0.0.1:8333, path style, region us-east-1, signed".
  virtual std::string describe(const std::string& url) const = 0;
  virtual RequestCounts counts() const = 0;

  // Untimed, by any thread; all throw RunError in the server's own words. `url`: "s3://bucket/key" of one object.

  /// Puts an object; returns its ETag. `only_new`: nothing where there is one already, as far as the store knows that
  /// condition.
  virtual std::optional<std::string> put(const std::string& url, std::string_view bytes, bool only_new) = 0;
  /// At most `most` bytes from `offset` on; nothing where there is no such object.
  virtual std::optional<StoredBytes> get(const std::string& url, std::uint64_t offset, std::uint64_t most) = 0;
  /// Removes those that still match their ETags, several at a time; reports on each (its number) whether it is gone.
  virtual void remove(std::span<const OwnObject> objects,
                      const std::function<void(std::size_t number, bool gone)>& each) = 0;
  /// The open uploads below `url`, taken for a folder.
  virtual std::vector<OpenUpload> uploads(const std::string& url) = 0;
  /// Returns when the store knows nothing of it any more.
  virtual void abort(const OpenUpload& upload) = 0;

  /// The names in the bucket of `url`; `retries`: how often a request is repeated whose failure may pass.
  virtual std::unique_ptr<ObjectNames> names(const std::string& url, unsigned retries) = 0;
  /// Of the bucket of `url`.
  virtual std::unique_ptr<ObjectReader> object_reader(const std::string& url) = 0;
  /// Writes objects on one thread.
  virtual std::unique_ptr<ObjectWriter> object_writer(const ObjectWriterOptions& options) = 0;
};

}  // namespace headrace
