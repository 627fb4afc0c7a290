#include "harness/backends/s3/key_renewal.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "harness/base/error.h"

namespace headrace::s3 {
namespace {

constexpr std::int64_t kAhead_s = 900;  // as botocore; of short lives the last quarter
constexpr std::int64_t kAgain_s = 60;

bool is_valid(const Keys& keys, std::int64_t now_s) { return keys.expires_s == 0 || now_s < keys.expires_s; }

}  // namespace

std::shared_ptr<const Keys> KeyRenewal::current(std::int64_t now_s) {
  std::shared_ptr<const Keys> old;
  const auto state = [&] {
    const std::lock_guard lock(mutex_);
    return std::pair(keys_, renew_s_);
  };
  std::int64_t renew_s = 0;
  std::tie(old, renew_s) = state();
  const bool usable = old && is_valid(*old, now_s);
  if (usable && (old->expires_s == 0 || now_s < renew_s)) return old;
  std::unique_lock fetching(fetching_, std::defer_lock);
  if (!usable)
    fetching.lock();
  else if (!fetching.try_lock())
    return old;
  if (const auto now = state().first; now != old) return now;  // another thread was first
  try {
    auto fresh = std::make_shared<const Keys>(fetch_());
    if (!is_valid(*fresh, now_s))
      throw RunError(
          fmt::format("{}: the keys had expired {} s before they were fetched: is the clock of this machine right?",
                      source_, now_s - fresh->expires_s));
    const std::lock_guard lock(mutex_);
    keys_ = fresh;
    renew_s_ = std::max(now_s + 1, fresh->expires_s - std::min(kAhead_s, (fresh->expires_s - now_s) / 4));
    for (const std::string* one : {&fresh->key_id, &fresh->secret, &fresh->token}) known_.push_back(*one);
    return fresh;
  } catch (const RunError&) {
    if (!usable) throw;
    const std::lock_guard lock(mutex_);
    renew_s_ = now_s + kAgain_s;
    return old;
  }
}

std::string KeyRenewal::struck_out(const std::string& words) const {
  const std::lock_guard lock(mutex_);
  return Secrets(known_).struck_out(words);
}

}  // namespace headrace::s3
