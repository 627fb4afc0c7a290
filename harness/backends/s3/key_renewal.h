// Keys that a service lends for a time, renewed before they expire.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/secrets.h"

namespace headrace::s3 {

struct Keys {
  std::string key_id, secret, token;
  std::int64_t expires_s = 0;  // Unix time; 0 = never
};

/// Shared by all threads of a process.
class KeyRenewal {
 public:
  /// `fetch` throws RunError with the source and its answer.
  KeyRenewal(std::string source, std::function<Keys()> fetch) : source_(std::move(source)), fetch_(std::move(fetch)) {}

  /// Keys that are valid at `now_s` [Unix time]. The first thread that comes late in their life fetches new ones; the
  /// others use the old ones until then. While they are valid, a failed attempt is repeated a minute later. Throws
  /// RunError if there are no valid ones.
  std::shared_ptr<const Keys> current(std::int64_t now_s);

  /// `words` without any keys that this object ever fetched.
  std::string struck_out(const std::string& words) const;

 private:
  const std::string source_;  // for messages
  const std::function<Keys()> fetch_;
  std::mutex fetching_;
  mutable std::mutex mutex_;  // of the following
  std::shared_ptr<const Keys> keys_;
  std::int64_t renew_s_ = 0;
  std::vector<std::string> known_;
};

}  // namespace headrace::s3
