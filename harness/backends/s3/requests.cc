#include "harness/backends/s3/requests.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "harness/base/clock.h"
#include "harness/base/error.h"

namespace headrace::s3 {
namespace {

// The wait before a request is sent again [ns]. It doubles each time, minus a random half, so that many do not come
// together.
constexpr std::uint64_t kFirstPause = 100'000'000, kLongestPause = 5'000'000'000;
constexpr std::uint64_t kLongestPoll = 1'000'000'000;  // [ns]
constexpr std::uint64_t kStopping = 2'000'000'000;     // a store may answer for this long after a stop [ns]

}  // namespace

Requests::Requests(std::shared_ptr<const Settings> settings, const std::string& bucket, std::uint32_t slots,
                   unsigned retries, const std::atomic<int>* stop)
    : settings_(std::move(settings)),
      address_(*settings_, bucket),
      retries_(retries),
      stop_(stop),
      multi_(curl_multi_init()),
      slots_(slots) {
  if (multi_ == nullptr) throw RunError("libcurl gives no handle");
  if (settings_->sessions) session_ = settings_->sessions->of(*settings_, bucket);
  if (session_)
    signer_.emplace(Keys{}, settings_->region, kExpressService, kSessionToken);
  else if (settings_->is_signed())
    signer_.emplace(Keys{settings_->key_id, settings_->secret, settings_->token, 0}, settings_->region);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(slots));
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  finished_.reserve(slots);
  for (std::uint32_t slot = 0; slot < slots; ++slot)
    transfers_.push_back(std::make_unique<Transfer>(Way{*settings_, address_, signer_ ? &*signer_ : nullptr}, slot));
}

Requests::~Requests() {
  for (const auto& transfer : transfers_) curl_multi_remove_handle(multi_, transfer->easy());
  transfers_.clear();
  curl_multi_cleanup(multi_);
}

void Requests::renew_keys() {
  KeyRenewal* const renewal = session_ ? session_.get() : settings_->renewal.get();
  if (renewal == nullptr) return;
  const std::int64_t now_s = std::time(nullptr);
  if (renewed_s_ == now_s) return;
  auto keys = renewal->current(now_s);
  renewed_s_ = now_s;
  if (keys != lent_) signer_->take(*keys);
  lent_ = std::move(keys);
}

void Requests::start(std::uint32_t slot, const Ask& ask) {
  renew_keys();
  slots_[slot] = {.begin_ns = now_ns(), .in_flight = true};
  ++in_flight_;
  Ask sent = ask;
  if (session_) sent.md5 = {};  // directory buckets know no Content-MD5
  transfers_[slot]->prepare(sent);
  send(slot);
}

void Requests::send(std::uint32_t slot) {
  ++slots_[slot].tries;
  slots_[slot].again_ns = 0;
  curl_multi_add_handle(multi_, transfers_[slot]->easy());
  Tally::add(tally_->requests, 1);
}

std::uint64_t Requests::pause_ns(std::uint32_t tries) {
  const std::uint64_t pause = std::min(kFirstPause << std::min(tries - 1, 16u), kLongestPause);
  return pause / 2 + random_.below(pause / 2);
}

void Requests::keep(const Answer& answer, bool given_up) noexcept {
  for (Refusals& kind : refusals_) {
    const bool same = kind.count > 0 && kind.first.status == answer.status &&
                      kind.first.transport == answer.transport && kind.first.code() == answer.code();
    if (kind.count > 0 && !same) continue;
    if (kind.count == 0) kind.first = answer;
    ++kind.count;
    kind.given_up += given_up;
    return;
  }
}

void Requests::finish(Transfer& transfer, CURLcode code) {
  Slot& slot = slots_[transfer.slot()];
  curl_multi_remove_handle(multi_, transfer.easy());
  transfer.ended(code);
  const Answer& answer = transfer.answer();
  Tally::add(tally_->received, transfer.received());
  Tally::add(tally_->sent, transfer.sent());
  if (transfer.opened_connection()) Tally::add(tally_->connections, 1);
  if (!answer.is_success()) {
    const bool throttled = answer.is_throttled();
    Tally::add(throttled ? tally_->throttled : tally_->refused, 1);
    const bool again = answer.is_passing() && transfer.flaw() == Transfer::Flaw::none && slot.tries <= retries_;
    keep(answer, !again);
    if (again) {
      Tally::add(tally_->retries, 1);
      const std::uint64_t pause = pause_ns(slot.tries);
      Tally::add(tally_->waited_ns, pause);
      slot.again_ns = now_ns() + pause;
      ++waiting_;
      return;
    }
  }
  end(transfer.slot());
}

void Requests::end(std::uint32_t slot) {
  --in_flight_;
  slots_[slot].in_flight = false;
  finished_.push_back({slot, slots_[slot].begin_ns, transfers_[slot]->first_ns(), now_ns(), slots_[slot].tries});
}

bool Requests::has_to_stop(std::uint64_t now) {
  if (stop_ == nullptr || stop_->load(std::memory_order_relaxed) == 0) return false;
  if (asked_to_stop_ns_ == 0) asked_to_stop_ns_ = now;
  return now - asked_to_stop_ns_ >= kStopping;
}

void Requests::cancel() {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (!slots_[slot].in_flight) continue;
    if (std::exchange(slots_[slot].again_ns, 0) != 0) --waiting_;
    curl_multi_remove_handle(multi_, transfers_[slot]->easy());
    slots_[slot].in_flight = false;
    --in_flight_;
  }
}

void Requests::give_up() {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (!slots_[slot].in_flight) continue;
    if (std::exchange(slots_[slot].again_ns, 0) != 0) --waiting_;
    curl_multi_remove_handle(multi_, transfers_[slot]->easy());
    transfers_[slot]->ended(CURLE_ABORTED_BY_CALLBACK);
    keep(transfers_[slot]->answer(), true);
    end(slot);
  }
}

void Requests::send_again(std::uint64_t now) {
  for (std::uint32_t slot = 0; waiting_ > 0 && slot < slots_.size(); ++slot) {
    if (slots_[slot].again_ns == 0 || slots_[slot].again_ns > now) continue;
    --waiting_;
    if (Ask ask = transfers_[slot]->ask(); true) {
      if (ask.text != nullptr) ask.text->clear();
      transfers_[slot]->prepare(ask);
    }
    send(slot);
  }
}

std::span<const Finished> Requests::turn(std::size_t wait_for, std::uint64_t until_ns) {
  finished_.clear();
  for (;;) {
    int running = 0, left = 0;
    if (waiting_ > 0) {
      renew_keys();
      send_again(now_ns());
    }
    curl_multi_perform(multi_, &running);
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      void* transfer = nullptr;
      const CURLcode code = message->data.result;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      finish(*static_cast<Transfer*>(transfer), code);
    }
    if (finished_.size() >= wait_for || in_flight_ == 0) break;
    std::uint64_t wake = until_ns;
    for (const Slot& slot : slots_)
      if (waiting_ > 0 && slot.again_ns != 0) wake = std::min(wake, slot.again_ns);
    const std::uint64_t now = now_ns();
    if (now >= until_ns) break;
    if (has_to_stop(now)) {
      give_up();
      break;
    }
    // In whole milliseconds, rounded down: the last one is spent asking.
    const std::uint64_t pause = wake > now ? std::min(wake - now, kLongestPoll) : 0;
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(pause / 1'000'000), nullptr);
  }
  return finished_;
}

std::vector<Refusals> Requests::take_refusals() {
  std::vector<Refusals> taken;
  for (Refusals& kind : refusals_) {
    if (kind.count > 0) taken.push_back(kind);
    kind = {};
  }
  return taken;
}

}  // namespace headrace::s3
