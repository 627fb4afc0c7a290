// Which host, path and query a request for an object has.
#pragma once

#include <string>
#include <string_view>

#include "harness/backends/s3/settings.h"

namespace headrace::s3 {

/// "s3://bucket/prefix", taken apart.
struct ObjectUrl {
  std::string bucket;
  std::string prefix;  // without '/' at either end; "" = the whole bucket
};
/// Throws RunError when it names no bucket.
ObjectUrl parse_url(std::string_view url);

/// As SigV4 wants it: all but letters, digits, '-', '.', '_' and '~' as %XX; '/' stays in paths.
void append_encoded(std::string& to, std::string_view text, bool path);

/// Where the requests of one bucket go to.
class Address {
 public:
  Address(const Settings& settings, const std::string& bucket);

  bool virtual_host() const { return virtual_host_; }
  const std::string& host() const { return host_; }  // as in the header, with its port where that is not the scheme's
  const std::string& origin() const { return origin_; }  // "https://bucket.s3.eu-west-1.amazonaws.com"
  /// The prefix of every path, encoded: that of the endpoint, and "bucket/" behind it: "/", "/bucket/", "/s3/bucket/".
  const std::string& base() const { return base_; }

 private:
  bool virtual_host_;
  std::string host_, origin_, base_;
};

}  // namespace headrace::s3
