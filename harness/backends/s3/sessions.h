// S3 Express One Zone: directory buckets, whose requests are signed with the keys of a session.
// Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateSession.html
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "harness/backends/s3/key_chain.h"
#include "harness/backends/s3/key_renewal.h"
#include "harness/backends/s3/settings.h"

namespace headrace::s3 {

inline constexpr const char *kExpressService = "s3express", *kSessionToken = "x-amz-s3session-token";

/// The zone of a directory bucket: "usw2-az1" of "data--usw2-az1--x-s3"; "" = a bucket of another kind.
std::string_view zone_of(std::string_view bucket) noexcept;

/// The sessions of this process, one for each bucket.
class Sessions {
 public:
  explicit Sessions(std::function<KeyAnswer(const KeyRequest&)> ask) : ask_(std::move(ask)) {}

  /// The keys of the bucket's session, which is opened when they are first wanted. It may write, or only read where
  /// `settings` allow no more. nullptr: the bucket has none, or requests are not signed.
  std::shared_ptr<KeyRenewal> of(const Settings& settings, const std::string& bucket);

  /// `words` without the keys of any session.
  std::string struck_out(std::string words) const;

 private:
  const std::function<KeyAnswer(const KeyRequest&)> ask_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<KeyRenewal>> buckets_;
};

}  // namespace headrace::s3
