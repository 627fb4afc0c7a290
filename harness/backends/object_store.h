// What an engine that reads objects instead of files tells of their store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace headrace {

struct ListedObject {
  std::string_view key;    // below the prefix that was asked for; of a single object all of its key after the last '/'
  std::uint64_t size = 0;  // [B]
  std::uint64_t version = 0;  // of its ETag: changes when another takes its place
};

/// Since the program began, of all readers.
struct RequestCounts {
  std::uint64_t requests = 0;     // sent, those that were sent again included
  std::uint64_t received = 0;     // bytes of objects that came over connections
  std::uint64_t retries = 0;      // requests that were sent again
  std::uint64_t throttled = 0;    // answers that ask for fewer requests: 503 SlowDown, 429
  std::uint64_t refused = 0;      // other answers that are no success
  std::uint64_t connections = 0;  // opened
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  /// Every object below `url` ("s3://bucket/prefix", taken for a folder), in the order of their keys, or the one object of
  /// that name. Returns what stands before the keys ("s3://bucket/prefix"). Throws RunError in the server's own words, with
  /// what to do.
  virtual std::string list(const std::string& url, const std::function<void(const ListedObject&)>& each) = 0;
  /// Where requests for `url` go to and how: "http://127.0.0.1:8333, path style, region us-east-1, signed".
  virtual std::string told(const std::string& url) const = 0;
  virtual RequestCounts counts() const = 0;
};

}  // namespace headrace
