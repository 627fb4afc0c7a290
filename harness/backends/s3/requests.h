// Requests in flight of one thread: a multi handle of libcurl, and the requests to repeat.
#pragma once

#include <curl/curl.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/object_store.h"
#include "harness/backends/s3/sessions.h"
#include "harness/backends/s3/transfer.h"
#include "harness/base/random.h"

namespace headrace::s3 {

/// One thread's counts, read by others after it has ended.
struct alignas(128) Tally {
  std::atomic<std::uint64_t> requests{0}, received{0}, sent{0}, retries{0}, waited_ns{0}, throttled{0}, refused{0},
      connections{0};
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t more) noexcept {
    to.store(to.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
};

/// Answers of one kind that were no success: how often, and the first in full.
struct Refusals {
  std::uint64_t count = 0, given_up = 0;
  Answer first;
};

/// One finished request.
struct Finished {
  std::uint32_t slot = 0;
  std::uint64_t begin_ns = 0, first_ns = 0,
                end_ns = 0;  // first_ns: of the answer that counts; begin_ns of the first try
  std::uint32_t tries = 0;
};

class Requests {
 public:
  /// `retries`: how often a request is repeated after a temporary failure. `stop`: once it is not 0, requests that do
  /// not end within two seconds are given up; nullptr = never.
  Requests(std::shared_ptr<const Settings> settings, const std::string& bucket, std::uint32_t slots, unsigned retries,
           const std::atomic<int>* stop);
  ~Requests();
  Requests(const Requests&) = delete;

  void start(std::uint32_t slot, const Ask& ask);
  /// Works until `wait_for` requests have finished since the call (fewer if fewer are in flight), or until `until_ns`.
  std::span<const Finished> turn(std::size_t wait_for, std::uint64_t until_ns = UINT64_MAX);

  const Transfer& transfer(std::uint32_t slot) const { return *transfers_[slot]; }
  std::size_t in_flight() const { return in_flight_; }
  const Settings& settings() const { return *settings_; }
  const Address& address() const { return address_; }
  /// Lets go of all that is in flight, unreported.
  void cancel();
  /// Stays after this object.
  std::shared_ptr<Tally> tally() const { return tally_; }
  /// Kinds of refusals since the last call. Only while nothing is in flight.
  std::vector<Refusals> take_refusals();

 private:
  static constexpr std::size_t kKinds = 4;
  struct Slot {
    std::uint64_t begin_ns = 0, again_ns = 0;  // again_ns: when it is sent once more; 0 = it is on its way or done
    std::uint32_t tries = 0;
    bool in_flight = false;
  };

  void send(std::uint32_t slot);
  /// Once a second: are there newer keys?
  void renew_keys();
  void finish(Transfer& transfer, CURLcode code);
  void end(std::uint32_t slot);
  void send_again(std::uint64_t now);
  /// Was the stop early enough that a request without an answer will get none?
  bool has_to_stop(std::uint64_t now);
  void give_up();
  void keep(const Answer& answer, bool given_up) noexcept;
  std::uint64_t pause_ns(std::uint32_t tries);

  const std::shared_ptr<const Settings> settings_;
  const Address address_;
  const unsigned retries_;
  const std::atomic<int>* const stop_;
  std::uint64_t asked_to_stop_ns_ = 0;   // 0 = it was not yet
  std::shared_ptr<KeyRenewal> session_;  // of a directory bucket; nullptr = another bucket
  std::optional<Signer> signer_;
  std::int64_t renewed_s_ = 0;        // Unix time of the last look
  std::shared_ptr<const Keys> lent_;  // that the signer has
  CURLM* multi_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<Slot> slots_;
  std::vector<Finished> finished_;
  std::size_t in_flight_ = 0, waiting_ = 0;  // waiting: to be sent again
  std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();
  std::array<Refusals, kKinds> refusals_;
  Random random_{1};
};

}  // namespace headrace::s3
